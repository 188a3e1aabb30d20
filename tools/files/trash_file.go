package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"hob/platform/host/trash"
	"hob/platform/provenance"
	"hob/tools"
)

type trashIn struct {
	Path string `json:"path" jsonschema:"file or folder"`
}

// trashOut is the Data of trash_file.
type trashOut struct {
	Path string `json:"path"`
}

// trashUndo is the undo data of trash_file.
type trashUndo struct {
	trash.Item
	// Own is the digest of a trusted item in a trusted folder. The item is trusted again when it is
	// restored from the trash unchanged.
	Own string `json:"own,omitempty"`
}

func (f *Files) trashFile() tools.Tool {
	return tools.New(tools.Def[trashIn]{
		Spec: tools.Spec{
			Name: "trash_file", Category: "files", Effects: tools.Write,
			Description: "Move a file or folder to the trash, from which it can be restored.",
			Keywords:    "delete remove rm throw away recycle bin",
		},
		Paths:   func(in trashIn) []string { return f.touchedPaths(in.Path) },
		Summary: func(in trashIn) string { return "Move " + in.Path + " to the trash" },
		Judge:   f.judgeTrash,
		Run:     f.runTrash,
		Undo:    f.undoTrash,
		Redo:    f.redoTrash,
	})
}

func (f *Files) runTrash(ctx context.Context, c tools.Call, in trashIn) (tools.Result, error) {
	if err := ctx.Err(); err != nil {
		return tools.Result{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	item, s, err := f.throwAway(ctx, in.Path, c.Now)
	if err != nil {
		return tools.Result{}, err
	}
	defer s.Close()
	return tools.Result{
		Source: provenance.Tool,
		Text:   fmt.Sprintf("Moved %s to the trash.", s.displayName()),
		Data:   trashOut{Path: s.abs},
		Undo:   tools.NewUndo("restore "+s.displayName()+" from the trash", item),
	}, nil
}

// throwAway moves an item to the trash. The caller holds f.mu. If there is no error, the caller
// must close the openPath.
func (f *Files) throwAway(ctx context.Context, path string, at time.Time) (item trashUndo, _ *openPath, err error) {
	s, err := f.openSpot(path)
	if err != nil {
		return item, nil, err
	}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if err := f.checkRemovable(s, "put in the trash"); err != nil {
		return item, nil, err
	}
	dir, _, err := s.openParent(false)
	if err != nil {
		return item, nil, f.describeFileError("open the folder of", s, err)
	}
	defer func() { _ = dir.Close() }()
	_, name := s.dirName()
	if item.Own, err = f.ownSum(ctx, s); err != nil {
		return item, nil, err
	}
	item.Item, err = f.opt.Trash.Put(dir, name, at)
	if errors.Is(err, trash.ErrNoTrash) {
		return item, nil, &tools.Error{
			Code: tools.Unsupported, Source: provenance.Tool, Err: err, Message: "no trash is available for " + s.displayName() + "; nothing was changed",
			Remedy: "move the item to another folder first, or delete it yourself",
		}
	}
	if err != nil {
		return item, nil, f.describeFileError("put in the trash", s, err)
	}
	return item, s, nil
}

func (f *Files) undoTrash(ctx context.Context, data json.RawMessage) (string, error) {
	var item trashUndo
	if err := json.Unmarshal(data, &item); err != nil {
		return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.openSpot(item.Original)
	if err != nil {
		return "", err
	}
	defer s.Close()
	if s.info != nil {
		return "", tools.Errorf(tools.Conflict, "another file now exists at %s; undo would overwrite that file", s.errorLabel())
	}
	dir, made, err := s.openParent(true)
	if err != nil {
		return "", f.describeFileError("open the folder of", s, err)
	}
	defer func() { _ = dir.Close() }()
	_, name := s.dirName()
	settle, err := f.markForRestore(ctx, s, item.Own)
	if err != nil {
		s.removeCreated(made)
		return "", err
	}
	err = errors.Join(f.opt.Trash.Restore(item.Item, dir, name), settle())
	switch {
	case errors.Is(err, trash.ErrGone):
		s.removeCreated(made)
		return "", tools.Errorf(tools.NotFound, "%s is no longer in the trash", s.errorLabel())
	case errors.Is(err, fs.ErrExist):
		return "", tools.Errorf(tools.Conflict, "another file now exists at %s; undo would overwrite that file", s.errorLabel())
	case err != nil:
		s.removeCreated(made)
		return "", f.describeFileError("restore", s, err)
	}
	return "Restored " + s.displayName() + " from the trash.", nil
}
