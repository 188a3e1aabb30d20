package files

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// maxSaveNames is the number of names that are tried for a new file.
const maxSaveNames = 100

// SaveUntrusted creates a file with untrusted content in an allowed folder ("" selects the drop
// folder). It never replaces a file: if the name is taken, it adds a number. The name is chosen by
// someone else, so it loses its path, leading dots and invisible characters. undo is the data for
// UndoSave.
func (f *Files) SaveUntrusted(ctx context.Context, folder, name string, content []byte, list []provenance.Origin) (path, shown string, undo json.RawMessage, err error) {
	if int64(len(content)) > f.opt.MaxFile {
		return "", "", nil, tools.Errorf(tools.InvalidArguments, "the file is %s; at most %s can be saved", tools.Clean(formatSize(int64(len(content)))), tools.Clean(formatSize(f.opt.MaxFile)))
	}
	if folder = cmp.Or(strings.TrimSpace(folder), f.opt.Drop); folder == "" {
		return "", "", nil, tools.Errorf(tools.InvalidArguments, "name the folder for the file")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.ensureFolder(folder); err != nil {
		return "", "", nil, err
	}
	name = safeName(name)
	ext := filepath.Ext(name)
	c := tools.Call{Provenance: provenance.Outside, Origins: list}
	for n := 1; n <= maxSaveNames; n++ {
		try := name
		if n > 1 {
			try = fmt.Sprintf("%s (%d)%s", strings.TrimSuffix(name, ext), n, ext)
		}
		s, err := f.openSpot(filepath.Join(folder, try))
		if err != nil {
			return "", "", nil, err
		}
		if s.info != nil {
			s.Close()
			continue
		}
		r, err := f.writeContent(ctx, c, s, writeIn{Path: s.abs, Content: string(content)})
		if err != nil {
			err = f.describeFileError("save", s, err)
		}
		path, shown = s.abs, s.displayName()
		s.Close()
		if err != nil {
			return "", "", nil, err
		}
		return path, shown, r.Undo.Data, nil
	}
	return "", "", nil, tools.Errorf(tools.Conflict, "too many files named %q exist in this folder", name)
}

// UndoSave deletes a file that SaveUntrusted created, unless it was changed.
func (f *Files) UndoSave(ctx context.Context, undo json.RawMessage) (string, error) {
	if len(undo) == 0 {
		return "", errors.New("no undo data")
	}
	return f.undoWrite(ctx, undo)
}

// safeName returns a file name without a path, leading dots, control characters and characters
// that Windows does not allow.
func safeName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || strings.ContainsRune(`<>:"|?*`, r) || r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0xfeff {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	name = strings.TrimRight(strings.TrimLeft(strings.TrimSpace(name), ". "), ". ")
	if ext := filepath.Ext(name); len(name) > 120 {
		name = textnorm.TruncateRunes(strings.TrimSuffix(name, ext), 60) + textnorm.TruncateRunes(ext, 10)
	}
	return cmp.Or(name, "attachment")
}
