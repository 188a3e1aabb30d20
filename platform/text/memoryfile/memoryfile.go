// Package memoryfile reads and edits USER.md and MEMORY.md. Such a file consists of the user's own
// text and of one list of facts, between two comments, that Hob keeps in step with its memory. The
// package knows only the form of the files. Package memorysync of the engine compares them with the memory, and
// package prompt shows the user's text to models.
package memoryfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"hob/platform/text/lazyregexp"
	"hob/platform/text/textnorm"
	"hob/platform/text/visible"
)

// Mark shows the origin of a fact at the beginning of its line.
type Mark string

// The marks.
const (
	Own      Mark = ""        // the user's own words
	Outside  Mark = "outside" // untrusted text
	Inferred Mark = "hob"     // Hob's conclusion
)

// Entry is one fact of a file.
type Entry struct {
	Mark Mark
	Text string // one line
}

// NewEntry returns an entry whose text is one line without invisible characters, so that a text can
// neither begin another line nor hide its mark.
func NewEntry(m Mark, text string) Entry {
	text = showOnLine(text)
	if found, rest := splitMark(text); m == Own && found != Own { // the form in which the line is read again
		text = Entry{found, rest}.String()
	}
	return Entry{m, text}
}

func showOnLine(text string) string {
	return strings.Join(strings.Fields(visible.Text(strings.ToValidUTF8(text, "\uFFFD"))), " ")
}

// String returns the entry as it is in the file, without the sign of the list.
func (e Entry) String() string {
	if e.Mark == Own {
		return e.Text
	}
	return "[" + string(e.Mark) + "] " + e.Text
}

// Item is an entry that was found in a file.
type Item struct {
	Entry

	Line   int  // index of the line
	Listed bool // in Hob's list
}

// The comments around Hob's list. A comment is recognized by its first words, so that its
// explanation can change.
const (
	beginMark = "<!-- hob:remembered"
	endMark   = "<!-- hob:end"
	beginLine = beginMark + " Hob keeps this list in step with its memory: change, add or delete lines here. [outside] marks what you did not write, [hob] what Hob concluded. -->"
	endLine   = endMark + " -->"
)

// MaxSize is the maximum size of a file in bytes.
const MaxSize = 100_000

// Read reads a file that the user may have written. It returns "" if the file does not exist, and an
// error that names the remedy if the file is larger than MaxSize or is no text.
func Read(path string) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("%w; make the file readable, or move it elsewhere", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("%w; make the file readable, or move it elsewhere", err)
	case len(b) > MaxSize:
		return "", fmt.Errorf("%s is larger than %d KB; shorten it, because the model reads it with every message", path, MaxSize/1000)
	case !utf8.Valid(b) || strings.ContainsRune(string(b), 0):
		return "", fmt.Errorf("%s is not valid UTF-8 text; save it as UTF-8", path)
	}
	return string(b), nil
}

// File is a parsed file.
type File struct {
	Items []Item

	lines      []string
	begin, end int    // lines of the comments; -1 means missing
	newline    string // "\n" or "\r\n"
}

// HasList reports whether the file contains Hob's list from its beginning to its end.
func (f *File) HasList() bool { return f.begin >= 0 && f.end > f.begin }

// Parse parses a file. In Hob's list, every list item is an entry. In the user's text, an entry is a
// list item or a paragraph that consists of one line and states something; headings, quotes, tables,
// code, comments and longer paragraphs are not.
func Parse(text string) *File {
	f := &File{begin: -1, end: -1, newline: "\n"}
	if strings.Contains(text, "\r\n") {
		f.newline = "\r\n"
	}
	f.lines = strings.Split(strings.TrimPrefix(text, "\uFEFF"), "\n")
	for i, l := range f.lines {
		switch l = strings.TrimSpace(l); {
		case f.begin < 0 && strings.HasPrefix(l, beginMark):
			f.begin = i
		case f.begin >= 0 && f.end < 0 && strings.HasPrefix(l, endMark):
			f.end = i
		}
	}
	f.findItems()
	return f
}

// isListed reports whether a line is in Hob's list. A list without an end reaches the end of the
// file.
func (f *File) isListed(i int) bool { return f.begin >= 0 && i > f.begin && (f.end < 0 || i < f.end) }

func (f *File) findItems() {
	code, comment := false, false
	for i := range f.lines {
		line := strings.TrimSpace(f.lines[i])
		listed := f.isListed(i)
		switch {
		case listed || i == f.begin || i == f.end:
			code, comment = false, false
		case comment:
			comment = !strings.Contains(line, "-->")
			continue
		case strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~"):
			code = !code
			continue
		case strings.HasPrefix(line, "<!--"):
			comment = !strings.Contains(line, "-->")
			continue
		}
		if code || i == f.begin || i == f.end {
			continue
		}
		sign, rest := f.splitSign(i)
		it := Item{Entry: parseEntry(rest), Line: i, Listed: listed}
		if listed && sign != "" && it.Text != "" || !listed && f.isStatement(i, sign, it.Entry) {
			f.Items = append(f.Items, it)
		}
	}
}

var (
	listSign = lazyregexp.New(`^\s*(?:[-*+]|\d{1,3}[.)])\s+`)
	checkbox = lazyregexp.New(`^\[[ xX]\]\s+`)
)

// splitSign splits a line into the sign of a list item, with the spaces around it, and the rest. In
// the user's text, a checkbox is a part of the sign.
func (f *File) splitSign(i int) (sign, rest string) {
	line := f.lines[i]
	sign = listSign.FindString(line)
	if sign != "" && !f.isListed(i) {
		sign += checkbox.FindString(line[len(sign):])
	}
	return sign, strings.TrimSpace(line[len(sign):])
}

// entryMark finds a mark, also one that a Markdown editor has escaped or formatted, or that follows a
// checkbox, such as \[outside\], **[outside]** or [ ] [outside]. Otherwise, saving the file in
// such an editor would make untrusted text the user's.
var entryMark = lazyregexp.New("(?i)^(?:[^\\pL\\pN\\[]|\\[[ x]?\\])*\\[[\\s\\\\*_~`]*(outside|hob)[\\s\\\\*_~`]*\\][\\\\*_~`]*")

// splitMark splits a line into its mark and the text of the entry.
func splitMark(line string) (Mark, string) {
	m := entryMark.FindStringSubmatch(line)
	if m == nil {
		return Own, line
	}
	return Mark(strings.ToLower(m[1])), strings.TrimSpace(line[len(m[0]):])
}

func parseEntry(s string) Entry {
	mark, text := splitMark(showOnLine(s))
	return Entry{mark, text}
}

// isStatement reports whether a line of the user's text is an entry.
func (f *File) isStatement(i int, sign string, e Entry) bool {
	before, next := strings.TrimSpace(f.textLine(i-1)), f.textLine(i+1)
	switch {
	case sign != "" && listSign.FindString(next) == "" && strings.TrimLeft(next, " \t\r") != next && strings.TrimSpace(next) != "": // an item of several lines
		return false
	case sign == "" && (strings.IndexAny(strings.TrimSpace(f.lines[i]), "#>|<`~=-*_") == 0 || before != "" && before[0] != '#' || strings.TrimSpace(next) != ""):
		return false
	}
	return len(textnorm.FoldedWords(e.Text)) >= 2 && !strings.HasSuffix(e.Text, ":") && !strings.HasSuffix(e.Text, "?")
}

// textLine returns a line of the user's text, or "".
func (f *File) textLine(i int) string {
	if i < 0 || i >= len(f.lines) || f.isBoundary(i) {
		return ""
	}
	return f.lines[i]
}

// isBoundary reports whether a line is a comment of Hob's list.
func (f *File) isBoundary(i int) bool { return i == f.begin || i == f.end }

// Edit is a change of a file. The keys are lines.
type Edit struct {
	Remove  map[int]bool
	Replace map[int]Entry
	Append  []Entry // to Hob's list, which is created if it is missing
}

// Empty reports whether the edit changes nothing.
func (e *Edit) Empty() bool { return len(e.Remove)+len(e.Replace)+len(e.Append) == 0 }

// Apply returns the text of the file after an edit. Everything else stays as it is.
func (f *File) Apply(e Edit) string {
	if e.Empty() {
		return strings.Join(f.lines, "\n")
	}
	cr := strings.TrimSuffix(f.newline, "\n")
	var add []string
	for _, x := range e.Append {
		add = append(add, "- "+x.String()+cr)
	}
	var out []string
	for i, line := range f.lines {
		switch x, replaced := e.Replace[i]; {
		case e.Remove[i]:
		case replaced:
			sign, _ := f.splitSign(i)
			out = append(out, sign+x.String()+cr)
		case i == f.end:
			out = append(append(out, add...), line)
		default:
			out = append(out, line)
		}
	}
	if len(add) == 0 || f.end >= 0 {
		return strings.Join(out, "\n")
	}
	for len(out) > 0 && strings.TrimSpace(out[len(out)-1]) == "" {
		out = out[:len(out)-1]
	}
	if f.begin < 0 {
		if len(out) > 0 {
			out = append(out, cr)
		}
		out = append(out, beginLine+cr)
	}
	return strings.Join(append(append(out, add...), endLine+cr, ""), "\n")
}

// UserText returns the part of a file that the user wrote, for a prompt: without Hob's list, and
// without marked lines, so that untrusted text never appears as the user's.
func UserText(text string) string {
	if !strings.Contains(text, beginMark) && !strings.Contains(text, "[") {
		return text
	}
	f := Parse(text)
	var out []string
	for i, line := range f.lines {
		_, rest := f.splitSign(i)
		if f.isListed(i) || f.isBoundary(i) || parseEntry(rest).Mark != Own {
			continue
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}
