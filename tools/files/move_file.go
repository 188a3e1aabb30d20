package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hob/platform/host/rename"
	"hob/platform/provenance"
	"hob/tools"
)

type moveIn struct {
	Source      string `json:"source" jsonschema:"file or folder to move"`
	Destination string `json:"destination" jsonschema:"new path, or the folder to move into"`
}

// moveOut is the Data of move_file.
type moveOut struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type moveUndo struct {
	From string   `json:"from"`
	To   string   `json:"to"`
	Made []string `json:"made,omitempty"` // created parent folders, below the allowed folder of To
	// Own is the digest of a trusted item that was moved out of a trusted folder. The item is
	// trusted again when it is moved back unchanged.
	Own string `json:"own,omitempty"`
}

func (f *Files) moveFile() tools.Tool {
	return tools.New(tools.Def[moveIn]{
		Spec: tools.Spec{
			Name: "move_file", Category: "files", Effects: tools.Write,
			Description: "Move or rename a file or folder. Never overwrites.",
			Keywords:    "rename mv put into folder sort tidy",
		},
		Paths:   func(in moveIn) []string { return f.touchedPaths(in.Source, in.Destination) },
		Summary: func(in moveIn) string { return "Move " + in.Source + " to " + in.Destination },
		Judge:   f.judgeMove,
		Run:     f.runMove,
		Undo:    f.undoMove,
		Redo:    f.redoMove,
	})
}

func (f *Files) runMove(ctx context.Context, c tools.Call, in moveIn) (tools.Result, error) {
	if err := ctx.Err(); err != nil {
		return tools.Result{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	from, err := f.openSpot(in.Source)
	if err != nil {
		return tools.Result{}, err
	}
	defer from.Close()
	if err := f.checkRemovable(from, "moved"); err != nil {
		return tools.Result{}, err
	}
	if err := f.ensureFolder(in.Destination); err != nil {
		return tools.Result{}, err
	}
	to, err := f.resolveDestination(from, in.Destination)
	if err != nil {
		return tools.Result{}, err
	}
	defer to.Close()
	if provenance.Worst(c.Provenance).Tainted() {
		if err := f.marks.markName(ctx, to.abs, c.Origins); err != nil {
			return tools.Result{}, err
		}
	}
	u := moveUndo{From: from.abs, To: to.abs}
	marked, err := f.movePath(ctx, from, to, &u)
	if err != nil {
		return tools.Result{}, err
	}
	return tools.Result{
		Source: provenance.Tool,
		Text:   fmt.Sprintf("Moved %s to %s.", from.displayName(), to.displayName()) + marked.untrustedMoveNote(to),
		Data:   moveOut{From: from.abs, To: to.abs},
		Undo:   tools.NewUndo("move "+to.displayName()+" back to "+from.displayName(), u),
	}, nil
}

// checkRemovable checks whether an item may be moved or put in the trash. done is the participle of
// the action for the error message, such as "moved".
func (f *Files) checkRemovable(s *openPath, done string) error {
	switch {
	case s.info == nil:
		return f.describeFileError("find", s, fs.ErrNotExist)
	case s.rel == ".":
		return tools.Errorf(tools.PolicyDenied, "%s is itself an allowed folder and cannot be %s", s.errorLabel(), tools.Clean(done))
	case s.linked:
		return tools.Errorf(tools.Unsupported, "%s is a link and cannot be %s; name the file that the link points to", s.errorLabel(), tools.Clean(done))
	case !s.info.IsDir() && !s.info.Mode().IsRegular():
		return specialFileError(s.errorLabel())
	}
	return s.holdsProtected()
}

// resolveDestination resolves the destination. If it is an existing folder, the item is moved into
// the folder.
func (f *Files) resolveDestination(from *openPath, path string) (*openPath, error) {
	to, err := f.openSpot(path)
	if err != nil {
		return nil, err
	}
	into := to.info != nil && to.info.IsDir() || to.info == nil && strings.HasSuffix(path, "/")
	if into {
		given, abs := filepath.Join(to.given, filepath.Base(from.given)), filepath.Join(to.abs, filepath.Base(from.abs))
		to.Close()
		if to, err = f.openSpot(abs); err != nil {
			return nil, err
		}
		to.given = given
	}
	err = to.guardedRepository()
	switch {
	case err != nil:
	case to.info != nil:
		err = f.describeFileError("move to", to, fs.ErrExist)
	default:
		if _, ok := relativeTo(from.abs, to.abs); ok {
			err = tools.Errorf(tools.InvalidArguments, "a folder cannot be moved into itself")
		}
	}
	if err != nil {
		to.Close()
		return nil, err
	}
	return to, nil
}

// movePath renames from to to. Untrusted items remain untrusted at the destination. It sets u.Own
// to the digest of a trusted item.
func (f *Files) movePath(ctx context.Context, from, to *openPath, u *moveUndo) (marked untrustedMove, err error) {
	src, _, err := from.openParent(false)
	if err != nil {
		return false, f.describeFileError("open the folder of", from, err)
	}
	defer func() { _ = src.Close() }()
	dst, made, err := to.openParent(true)
	if err != nil {
		return false, f.describeFileError("open the folder of", to, err)
	}
	defer func() { _ = dst.Close() }()
	marked, moved, err := f.carryMarks(ctx, from, to, u)
	if err != nil {
		to.removeCreated(made)
		return false, err
	}
	_, old := from.dirName()
	_, name := to.dirName()
	err = rename.NoReplace(src, old, dst, name)
	if errors.Is(err, rename.ErrCrossDevice) {
		err = f.moveAcrossDevices(ctx, from, src, to, dst)
	}
	if err != nil {
		to.removeCreated(made)
		if !errors.Is(err, fs.ErrExist) {
			err = errors.Join(err, f.marks.dropTree(ctx, to.abs))
		}
		if errors.Is(err, fs.ErrExist) {
			return false, f.describeFileError("move to", to, err)
		}
		return false, f.describeFileError("move", from, err)
	}
	u.Made = made
	return marked, moved()
}

// moveAcrossDevices moves a file to another device. It writes and syncs a copy, and then removes
// the original, unless the original has changed in the meantime.
func (f *Files) moveAcrossDevices(ctx context.Context, from *openPath, src *os.Root, to *openPath, dst *os.Root) error {
	if from.info.IsDir() {
		return &tools.Error{
			Code: tools.Unsupported, Source: provenance.Tool, Message: from.displayName() + " is a folder, and " + to.displayName() + " is on another file system",
			Remedy: "move the files in the folder one by one",
		}
	}
	_, old := from.dirName()
	_, name := to.dirName()
	file, err := src.OpenFile(old, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	before, err := file.Stat()
	if err != nil || !os.SameFile(before, from.info) {
		return errors.Join(err, errMoved)
	}
	mode := before.Mode()
	tmp, err := writeTempFile(dst, &mode, func(w *os.File) error {
		_, err := io.Copy(w, &reader{ctx: ctx, r: file})
		return err
	})
	if err != nil {
		return err
	}
	after, err := src.Lstat(old)
	if err == nil && (!os.SameFile(before, after) || !after.ModTime().Equal(before.ModTime()) || after.Size() != before.Size()) {
		err = errMoved
	}
	if err == nil {
		err = dst.Chtimes(tmp, before.ModTime(), before.ModTime())
	}
	if err == nil {
		err = rename.NoReplace(dst, tmp, dst, name)
	}
	if err != nil {
		return errors.Join(err, dst.Remove(tmp))
	}
	syncDir(dst)
	if err := src.Remove(old); err != nil {
		return errors.Join(err, dst.Remove(name))
	}
	return nil
}

// reader returns an error when ctx ends, which stops a copy.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

func (f *Files) undoMove(ctx context.Context, data json.RawMessage) (string, error) {
	var u moveUndo
	if err := json.Unmarshal(data, &u); err != nil {
		return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now, err := f.openSpot(u.To)
	if err != nil {
		return "", err
	}
	defer now.Close()
	if now.info == nil {
		return "", tools.Errorf(tools.Conflict, "%s no longer exists", now.errorLabel())
	}
	back, err := f.openSpot(u.From)
	if err != nil {
		return "", err
	}
	defer back.Close()
	if back.info != nil {
		return "", tools.Errorf(tools.Conflict, "another file now exists at %s; undo would overwrite that file", back.errorLabel())
	}
	made := u.Made
	marked, err := f.movePath(ctx, now, back, &u)
	if err != nil {
		return "", err
	}
	if err := f.marks.dropName(ctx, back.abs); err != nil {
		return "", err
	}
	now.removeCreated(made)
	return fmt.Sprintf("Moved %s back to %s.", now.displayName(), back.displayName()) + marked.untrustedMoveNote(back), nil
}
