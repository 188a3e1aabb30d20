package files

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hob/tools"
)

// isInertPath reports whether a path is neither in a dot-folder nor in a repository.
func isInertPath(s *openPath) bool {
	parts := splitPath(s.rel)
	for i, c := range parts {
		if strings.HasPrefix(c, ".") {
			return false
		}
		if _, err := s.root.Lstat(filepath.Join(append(slices.Clone(parts[:i]), ".git")...)); err == nil {
			return false
		}
	}
	for dir := s.root.Name(); dir != filepath.Dir(dir); dir = filepath.Dir(dir) { // the allowed folder itself may be in a repository
		if _, err := os.Lstat(filepath.Join(filepath.Dir(dir), ".git")); err == nil {
			return false
		}
	}
	return true
}

// judgeWrite decides whether a write may create a document in the drop folder without approval. If
// the conversation contains untrusted text, the document is rendered under a name that Hob chooses
// (see runDrop), and Exact binds the call to this form. A folder whose files count as the owner's
// own words is never a drop folder.
func (f *Files) judgeWrite(ctx context.Context, in writeIn) tools.CallAssessment {
	p, err := f.Inspect(in.Path)
	if err != nil || !p.Drop || !p.Inert || p.Trusted || p.Exists || in.Append || strings.HasSuffix(in.Path, "/") {
		return tools.CallAssessment{Exact: f.boundState(ctx, in.Path)}
	}
	drop, err := f.Inspect(f.opt.Drop)
	if err != nil || !drop.Inert || drop.Trusted {
		return tools.CallAssessment{Exact: f.boundState(ctx, in.Path)}
	}
	if _, ok := renderFile(filepath.Ext(p.Path), in.Content); !ok {
		return tools.CallAssessment{Exact: f.boundState(ctx, in.Path)}
	}
	return tools.CallAssessment{Inert: true, Exact: newFile(p.Path)}
}

const newFileMark = "new file "

func newFile(abs string) string { return newFileMark + abs }

// asJudged returns an error if the approval is for a new file, but the write would create a file at
// another path or overwrite a file.
func (f *Files) asJudged(s *openPath, exact string) error {
	if !strings.HasPrefix(exact, newFileMark) || s.info == nil && exact == newFile(s.abs) {
		return nil
	}
	return tools.Errorf(tools.Conflict, "%s was created after the approval; nothing was changed", s.errorLabel())
}

// maxDropNames is the number of names that are tried for a file in the drop folder.
const maxDropNames = 1000

// runDrop creates a file in the drop folder when the conversation contains untrusted text. An
// attacker may have chosen the name and the content. Hob therefore chooses a name that has no
// meaning to any program, and renders the content.
func (f *Files) runDrop(ctx context.Context, c tools.Call, in writeIn) (tools.Result, error) {
	ext := filepath.Ext(in.Path)
	content, ok := renderFile(ext, in.Content)
	if !ok {
		return tools.Result{}, tools.Errorf(tools.InvalidArguments, "the content is not text or is too large for the drop folder; nothing was written")
	}
	wanted := filepath.Base(in.Path)
	in.Content = content
	base := "hob-" + c.Now.Format("2006-01-02-150405") + slugify(strings.TrimSuffix(wanted, ext))
	for n := 1; n <= maxDropNames; n++ {
		name := base + renderedExt(ext)
		if n > 1 {
			name = fmt.Sprintf("%s-%d%s", base, n, renderedExt(ext))
		}
		in.Path = filepath.Join(f.opt.Drop, name)
		s, err := f.openSpot(in.Path)
		if err != nil {
			return tools.Result{}, err
		}
		if s.info != nil {
			s.Close()
			continue
		}
		r, err := f.writeContent(ctx, c, s, in)
		if err != nil {
			err = f.describeFileError("write", s, err)
		} else {
			r.Text += " Untrusted text is part of this conversation, so Hob chose the name and wrote links, pictures and formulas as plain text."
		}
		s.Close()
		return r, err
	}
	return tools.Result{}, tools.Errorf(tools.Conflict, "too many files were created in the drop folder in this second; retry")
}

// slugify returns the characters of a name that have no special meaning to any program: letters, in
// lower case, and digits.
func slugify(name string) string {
	var b strings.Builder
	gap := true
	for _, r := range strings.ToLower(name) {
		switch {
		case b.Len() >= 40:
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			if gap {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(r)
		default:
			gap = true
		}
	}
	return b.String()
}
