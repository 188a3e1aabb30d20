package files

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"hob/platform/provenance"
	"hob/tools"
)

// MayDrop reports whether a Markdown report can be created in the drop folder without approval while
// untrusted text is in context (see runDrop).
func (f *Files) MayDrop() bool {
	drop, err := f.Inspect(f.opt.Drop)
	return err == nil && drop.Inert && !drop.Trusted
}

// CreateReport creates a file in the drop folder. Its name consists of name, without the characters
// that have a meaning to programs, and ext; a number follows if the file exists. The content
// includes text from other people, so the file is marked as untrusted. If the conversation contained
// untrusted text, a Markdown report is rendered without links.
func (f *Files) CreateReport(ctx context.Context, c tools.Call, name, ext string, content []byte) (path string, undo *tools.Undo, err error) {
	text := string(content)
	if ext == ".md" && provenance.Worst(c.Provenance).Tainted() {
		rendered, ok := renderFile(ext, text)
		if !ok {
			return "", nil, tools.Errorf(tools.InvalidArguments, "the report is not text or is too large for the drop folder; nothing was written")
		}
		text = rendered
	}
	c.Provenance = provenance.Outside
	f.mu.Lock()
	defer f.mu.Unlock()
	base := c.Now.Format("2006-01-02") + slugify(name)
	if err := f.ensureFolder(filepath.Join(f.opt.Drop, base+ext)); err != nil {
		return "", nil, err
	}
	for n := 1; n <= maxDropNames; n++ {
		file := base + ext
		if n > 1 {
			file = fmt.Sprintf("%s-%d%s", base, n, ext)
		}
		r, err := f.createNew(ctx, c, writeIn{Path: filepath.Join(f.opt.Drop, file), Content: text})
		if err != nil || r.Undo != nil {
			out, _ := r.Data.(writeOut)
			return out.Path, r.Undo, err
		}
	}
	return "", nil, tools.Errorf(tools.Conflict, "too many reports with this name exist; remove some")
}

// createNew writes a file that does not exist. It returns a result without Undo if the file exists.
func (f *Files) createNew(ctx context.Context, c tools.Call, in writeIn) (tools.Result, error) {
	s, err := f.openSpot(in.Path)
	if err != nil {
		return tools.Result{}, err
	}
	defer s.Close()
	if s.info != nil {
		return tools.Result{}, nil
	}
	r, err := f.writeContent(ctx, c, s, in)
	if err != nil {
		return tools.Result{}, f.describeFileError("write", s, err)
	}
	return r, nil
}

// UndoReport deletes a file that CreateReport created, unless it has changed.
func (f *Files) UndoReport(ctx context.Context, data json.RawMessage) (string, error) {
	return f.undoWrite(ctx, data)
}
