package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type writeIn struct {
	Path    string `json:"path" jsonschema:"file"`
	Content string `json:"content"`
	Append  bool   `json:"append,omitempty" jsonschema:"instead of replacing"`
}

// writeOut is the Data of write_file.
type writeOut struct {
	Path    string `json:"path"`
	Size    int    `json:"size"`
	Created bool   `json:"created"`
}

// writeUndo is the undo data of a write.
type writeUndo struct {
	Path    string       `json:"path"`
	Created bool         `json:"created"`
	Before  string       `json:"before,omitempty"` // digest of the earlier content
	Mode    *fs.FileMode `json:"mode,omitempty"`   // mode of the former file
	After   string       `json:"after"`
	Made    []string     `json:"made,omitempty"` // created parent folders, below the allowed folder
}

func (f *Files) writeFile() tools.Tool {
	return tools.New(tools.Def[writeIn]{
		Spec: tools.Spec{
			Name: "write_file", Category: "files", Effects: tools.Write, Core: true,
			Description: "Write content to a text file: create, replace or append.",
			Keywords:    "save create edit append text document",
		},
		Paths: func(in writeIn) []string { return f.touchedPaths(in.Path) },
		Summary: func(in writeIn) string {
			verb := "Write"
			if in.Append {
				verb = "Append"
			}
			return fmt.Sprintf("%s %s to %s", verb, textnorm.CountNoun(utf8.RuneCountInString(in.Content), "character", "characters"), in.Path)
		},
		Judge: f.judgeWrite,
		Run:   f.runWrite,
		Undo:  f.undoWrite,
		Redo:  f.redoWrite,
	})
}

func (f *Files) runWrite(ctx context.Context, c tools.Call, in writeIn) (tools.Result, error) {
	if err := ctx.Err(); err != nil {
		return tools.Result{}, err
	}
	if int64(len(in.Content)) > f.opt.MaxFile {
		return tools.Result{}, tools.Errorf(tools.InvalidArguments, "the content is %s; at most %s can be written", tools.Clean(formatSize(int64(len(in.Content)))), tools.Clean(formatSize(f.opt.MaxFile)))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.ensureFolder(in.Path); err != nil {
		return tools.Result{}, err
	}
	s, err := f.openSpot(in.Path)
	if err != nil {
		return tools.Result{}, err
	}
	defer s.Close()
	if err := f.asJudged(s, c.Exact); err != nil {
		return tools.Result{}, err
	}
	if strings.HasPrefix(c.Exact, newFileMark) && provenance.Worst(c.Provenance).Tainted() {
		return f.runDrop(ctx, c, in)
	}
	r, err := f.writeContent(ctx, c, s, in)
	if err != nil {
		return tools.Result{}, f.describeFileError("write", s, err)
	}
	return r, nil
}

func (f *Files) writeContent(ctx context.Context, c tools.Call, s *openPath, in writeIn) (tools.Result, error) {
	if s.rel == "." || strings.HasSuffix(in.Path, "/") || (s.info != nil && s.info.IsDir()) {
		return tools.Result{}, tools.Errorf(tools.InvalidArguments, "%s is a folder; name a file in it", s.errorLabel())
	}
	if err := s.guardedRepository(); err != nil {
		return tools.Result{}, err
	}
	dir, made, err := s.openParent(true)
	if err != nil {
		return tools.Result{}, err
	}
	defer func() { _ = dir.Close() }()
	u := writeUndo{Path: s.abs, Created: s.info == nil, Made: made}
	content := []byte(in.Content)
	kept := errNotKept
	if s.info != nil {
		content, kept, err = f.prepareContent(s, dir, in, &u)
		if err != nil {
			return tools.Result{}, err
		}
	}
	if err := f.markWrite(ctx, c, s, in, content); err != nil {
		return tools.Result{}, err
	}
	_, name := s.dirName()
	if err := replaceFile(dir, name, content, u.Mode); err != nil {
		s.removeCreated(made)
		return tools.Result{}, err
	}
	if err := f.clearOverwritten(ctx, c, s, in, u); err != nil {
		return tools.Result{}, err
	}
	u.After = contentDigest(content)
	return f.writeResult(s, in, u, len(content), kept), nil
}

// prepareContent reads the file that will be replaced, saves its content and returns the new
// content. kept is nil if the write can be undone.
func (f *Files) prepareContent(s *openPath, dir *os.Root, in writeIn, u *writeUndo) (content []byte, kept, err error) {
	_, name := s.dirName()
	if !s.info.Mode().IsRegular() {
		return nil, nil, specialFileError(s.errorLabel())
	}
	if err := oneName(dir, name, s.errorLabel(), s.info, "write to a new file instead"); err != nil {
		return nil, nil, err
	}
	mode := s.info.Mode().Perm()
	u.Mode = &mode
	content = []byte(in.Content)
	old, err := readRegular(dir, name, s.errorLabel(), f.opt.MaxFile)
	switch {
	case errors.Is(err, errTooLarge) && !in.Append:
		return content, errTooLarge, nil
	case err != nil:
		return nil, nil, err
	}
	if in.Append {
		if len(old) > 0 && old[len(old)-1] != '\n' {
			content = append([]byte("\n"), content...)
		}
		content = append(old[:len(old):len(old)], content...)
		if int64(len(content)) > f.opt.MaxFile {
			return nil, nil, tools.Errorf(tools.InvalidArguments, "%s would grow to %s; at most %s can be written", s.errorLabel(), tools.Clean(formatSize(int64(len(content)))), tools.Clean(formatSize(f.opt.MaxFile)))
		}
	}
	u.Before, kept = f.undo.putContent(old)
	if kept != nil && !errors.Is(kept, errNotKept) {
		return nil, nil, fmt.Errorf("cannot save the earlier content, so nothing was written: %w", kept)
	}
	return content, kept, nil
}

func (f *Files) writeResult(s *openPath, in writeIn, u writeUndo, n int, kept error) tools.Result {
	r := tools.Result{Source: provenance.Tool, Data: writeOut{Path: s.abs, Size: n, Created: u.Created}}
	shown := s.displayName()
	switch {
	case u.Created:
		r.Text = fmt.Sprintf("Created %s (%s).", shown, formatSize(int64(n)))
		r.Undo = tools.NewUndo("delete "+shown+" again", u)
		return r
	case in.Append:
		r.Text = fmt.Sprintf("Added %s to %s, which is now %s.", formatSize(int64(len(in.Content))), shown, formatSize(int64(n)))
	default:
		r.Text = fmt.Sprintf("Replaced %s (now %s).", shown, formatSize(int64(n)))
	}
	if kept == nil {
		r.Undo = tools.NewUndo("restore the earlier content of "+shown, u)
		return r
	}
	r.Text += " This cannot be undone: "
	if errors.Is(kept, errTooLarge) {
		r.Text += "the earlier content is larger than " + formatSize(f.opt.MaxFile) + "."
	} else {
		r.Text += "no folder for earlier contents is configured."
	}
	return r
}

// ensureFolder creates an allowed folder. The configuration may name a folder that does not exist
// yet, such as the drop folder.
func (f *Files) ensureFolder(path string) error {
	abs, err := f.cleanPath(path)
	if err != nil {
		return err
	}
	folder, _, ok := f.findAllowedFolder(abs)
	if !ok {
		return f.notAllowed(abs, "")
	}
	if err := f.checkProtected(folder, tools.Clean(f.displayPath(folder))); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return tools.Errorf(tools.Failed, "cannot create the allowed folder %s: %w", tools.Clean(f.displayPath(folder)), err)
	}
	return nil
}
