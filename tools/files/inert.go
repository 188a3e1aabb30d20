package files

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"hob/tools"
)

// inertTypes are the endings of files that no program runs.
var inertTypes = []string{
	".txt", ".md", ".csv", ".tsv", ".json", ".log", ".pdf", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".ics", ".vcf",
	".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp", ".epub", ".mp3", ".m4a", ".wav", ".mp4", ".mov", ".zip",
}

// inertTexts are those of them that write_file can make: it writes text.
var inertTexts = []string{".txt", ".md", ".csv", ".tsv", ".json", ".log"}

// heeded are names of plain files that some program or agent does what they say.
var heeded = []string{
	"agents.md", "claude.md", "gemini.md", "skill.md", "soul.md", "user.md", "memory.md", "copilot-instructions.md", "llms.txt",
	"package.json", "composer.json", "deno.json", "tsconfig.json", "mcp.json", "settings.json", "tasks.json", "launch.json",
	"cmakelists.txt", "requirements.txt", "robots.txt",
}

// inert reports whether the name and the place are those of a plain document: no
// dot-file, nothing that runs or is heeded, and not inside a repository.
func inert(s *spot) bool {
	name := strings.ToLower(filepath.Base(s.abs))
	if !slices.Contains(inertTypes, filepath.Ext(name)) || slices.Contains(heeded, name) {
		return false
	}
	parts := split(s.rel)
	for i, c := range parts {
		if strings.HasPrefix(c, ".") {
			return false
		}
		if _, err := s.root.Lstat(filepath.Join(append(slices.Clone(parts[:i]), ".git")...)); err == nil {
			return false
		}
	}
	for dir := s.root.Name(); dir != filepath.Dir(dir); dir = filepath.Dir(dir) { // a repository may lie around it all
		if _, err := os.Lstat(filepath.Join(filepath.Dir(dir), ".git")); err == nil {
			return false
		}
	}
	return true
}

// plain reports whether a text is what its name says, and makes nothing happen
// where it is opened.
func plain(name, text string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	if !slices.Contains(inertTexts, ext) || strings.ContainsRune(text, 0) {
		return false
	}
	head := strings.TrimLeft(text, "\ufeff \t\r\n")
	if strings.HasPrefix(head, "#!") || strings.HasPrefix(head, "<?") || !strings.HasPrefix(http.DetectContentType([]byte(head)), "text/plain") {
		return false
	}
	switch ext {
	case ".csv":
		return !formulas(text, ',') && !formulas(text, ';')
	case ".tsv":
		return !formulas(text, '\t')
	}
	return true
}

// formulas reports whether a table holds a cell that a spreadsheet would
// calculate, which may fetch and run things. What cannot be read counts.
func formulas(text string, comma rune) bool {
	r := csv.NewReader(strings.NewReader(text))
	r.Comma, r.LazyQuotes, r.FieldsPerRecord = comma, true, -1
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return false
		}
		if err != nil || slices.ContainsFunc(row, formula) {
			return true
		}
	}
}

func formula(cell string) bool {
	cell = strings.TrimLeftFunc(cell, func(r rune) bool { return unicode.IsSpace(r) || r == '"' || r == '\'' || r == '\ufeff' })
	switch {
	case cell == "":
		return false
	case strings.ContainsAny(cell[:1], "=@"):
		return true
	case strings.ContainsAny(cell[:1], "+-"): // numbers begin so, too
		return strings.Trim(cell[1:], "0123456789.,:% €$£") != ""
	}
	return false
}

// judgeWrite says of a write whether it makes a new plain document in the drop
// folder. Exact then holds it to that: what has come there meanwhile stays. A
// folder whose files count as the owner's own words is none to drop things in.
func (f *Files) judgeWrite(ctx context.Context, in writeIn) tools.Judgement {
	p, err := f.Inspect(in.Path)
	if err != nil || !p.Drop || !p.Inert || p.Trusted || p.Exists || in.Append || strings.HasSuffix(in.Path, "/") || !plain(p.Path, in.Content) {
		return tools.Judgement{Exact: f.boundState(ctx, in.Path)}
	}
	return tools.Judgement{Inert: true, Exact: newFile(p.Path)}
}

const newFileMark = "new file "

func newFile(abs string) string { return newFileMark + abs }

// asJudged refuses to write elsewhere, or over something, where a new file was
// allowed.
func (f *Files) asJudged(s *spot, exact string) error {
	if !strings.HasPrefix(exact, newFileMark) || s.info == nil && exact == newFile(s.abs) {
		return nil
	}
	return tools.Errorf(tools.Conflict, "something has come to %s since the call was allowed; nothing was changed", s.label())
}
