package transfer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"strings"
	"time"
)

// Delimiters of the comments that contain data for Hob. Markdown viewers do not display them.
const (
	open = "<!-- hob:"
	shut = " -->"
)

// markdownWriter writes a file that people can read and Hob can import again. A comment before each
// item contains all fields of the item except the text, which follows as Markdown.
type markdownWriter struct {
	s       *sealer
	n       int
	section string
	zone    *time.Location
}

// NewMarkdown starts a Markdown file that is sealed with key; zone is for displayed dates.
func NewMarkdown(w io.Writer, key []byte, at time.Time, zone *time.Location) (Writer, error) {
	m := &markdownWriter{s: newSealer(w, key), zone: zone}
	err := m.writeComment(exportHeader{Hob: "memory", Version: Version, At: at.UTC()})
	if err == nil {
		_, err = fmt.Fprintf(m.s, "# What Hob remembers\n\nAs of %s. Lines that begin with `%s` are data for importing this file into Hob.\n\n", at.In(zone).Format("2 January 2006, 15:04 MST"), "&lt;!-- hob:")
	}
	return m, err
}

// writeComment writes v as a comment, so that no part of v can end the comment.
func (m *markdownWriter) writeComment(v any) error {
	b, err := json.Marshal(v) // Marshal escapes HTML, so the output contains no ">"
	if err == nil {
		_, err = m.s.Write([]byte(open + string(b) + shut + "\n"))
	}
	if err != nil {
		return fmt.Errorf("transfer: write export: %w", err)
	}
	return nil
}

// sectionHeading returns the heading for a kind of records.
func sectionHeading(kind string) string {
	return map[string]string{
		"fact": "Facts", "entity": "People and things", "relation": "Relations", "note": "Notes", "lesson": "Lessons", "preference": "Preferences",
		"document": "Documents", "chunk": "Documents", "turn": "Conversations elsewhere", "session": "Conversations", "message": "Conversations",
	}[kind]
}

func (m *markdownWriter) Write(r Record) error {
	m.n++
	if s := sectionHeading(r.Kind()); s != m.section {
		m.section = s
		if err := m.writeComment(struct {
			Section string `json:"section"`
		}{s}); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(m.s, "## %s\n\n", s); err != nil {
			return fmt.Errorf("transfer: write export: %w", err)
		}
	}
	bare, heading, text, item := m.splitText(r)
	if err := m.writeComment(bare); err != nil {
		return err
	}
	var b strings.Builder
	if heading != "" {
		b.WriteString("### " + escapeMarkdown(strings.Join(strings.Fields(heading), " ")) + "\n")
	}
	if text != nil {
		b.WriteString(formatBody(*text, item))
	}
	_, err := m.s.Write([]byte(b.String() + "\n"))
	if err != nil {
		return fmt.Errorf("transfer: write export: %w", err)
	}
	return nil
}

// splitText separates the text of a record from the fields that go into the comment.
func (m *markdownWriter) splitText(r Record) (bare Record, heading string, text *string, item bool) {
	switch {
	case r.Fact != nil:
		f := *r.Fact
		words := f.Text
		f.Text = ""
		return Record{Fact: &f}, "", &words, true
	case r.Note != nil:
		n := *r.Note
		words := n.Text
		n.Text = ""
		return Record{Note: &n}, cmp.Or(strings.TrimSpace(n.Title), "Note"), &words, false
	case r.Chunk != nil, r.Turn != nil:
		return m.splitDoc(r)
	case r.Entity != nil:
		line := r.Entity.Name + " (" + r.Entity.Kind + ")"
		if len(r.Entity.Aliases) > 0 {
			line += ", also " + strings.Join(r.Entity.Aliases, ", ")
		}
		return r, "", &line, true
	case r.Relation != nil:
		line := r.Relation.From + " " + r.Relation.Name + " " + r.Relation.To
		return r, "", &line, true
	case r.Session != nil:
		return r, r.Session.ID, nil, false
	case r.Message != nil:
		line := r.Message.At.In(m.zone).Format("2006-01-02 15:04") + " " + summarizeMessage(r.Message.Message)
		return r, "", &line, true
	}
	var about struct{ Text, Title, Name, Path string }
	for _, raw := range []json.RawMessage{r.Lesson, r.Preference, r.Document} {
		_ = json.Unmarshal(raw, &about) // fields that are not displayed are still in the comment
	}
	line := strings.TrimSpace(about.Text + about.Title + about.Name + " " + about.Path)
	return r, "", &line, true
}

func (m *markdownWriter) splitDoc(r Record) (bare Record, heading string, text *string, item bool) {
	d := r.Chunk
	if d == nil {
		d = r.Turn
	}
	one := *d
	words := one.Text
	one.Text = ""
	if r.Chunk != nil {
		return Record{Chunk: &one}, fmt.Sprintf("%s, part %d", one.Title, one.Pos), &words, false
	}
	return Record{Turn: &one}, fmt.Sprintf("%s, %s, %s", one.Title, one.Speaker, one.At.In(m.zone).Format("2006-01-02 15:04")), &words, false
}

// summarizeMessage returns a summary of a message; the comment contains the complete message.
func summarizeMessage(raw json.RawMessage) string {
	var m struct {
		Role  string `json:"role"`
		Parts []struct {
			Text    string `json:"text"`
			Context bool   `json:"context"`
		} `json:"parts"`
	}
	_ = json.Unmarshal(raw, &m)
	var words []string
	for _, p := range m.Parts {
		if p.Text != "" && !p.Context {
			words = append(words, p.Text)
		}
	}
	return m.Role + ": " + strings.Join(words, " ")
}

// formatBody formats s so that its lines can be restored. A list item must be a single paragraph.
func formatBody(s string, item bool) string {
	lines := strings.Split(escapeMarkdown(s), "\n")
	if item {
		for i := range lines {
			if i == 0 {
				lines[i] = "- " + lines[i]
			} else {
				lines[i] = "  " + lines[i]
			}
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// escapeMarkdown escapes comment delimiters, and characters that an editor would change.
func escapeMarkdown(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", "\r", "&#13;", "\x00", "&#xfffd;").Replace(s)
}

func (m *markdownWriter) Close() error {
	sum := m.s.hexSum()
	return m.writeComment(struct {
		End exportTrailer `json:"end"`
	}{exportTrailer{m.n, sum}})
}

// readMarkdown reads a file that NewMarkdown wrote. Edited text takes precedence over the comments.
func readMarkdown(r io.Reader, t recordFunc) error {
	in := newScanner(r)
	first := true
	var now struct {
		at   int
		rec  *Record
		text []string
		size int
	}
	flush := func() error {
		if now.rec == nil {
			return nil
		}
		rec := *now.rec
		now.rec = nil
		restoreText(rec, now.text)
		return t.emitRecord(fmt.Sprintf("line %d", now.at), rec)
	}
	for n := 1; in.Scan(); n++ {
		s := strings.TrimSuffix(in.Text(), "\r")
		raw, ok := strings.CutPrefix(s, open)
		if !ok {
			if now.rec != nil {
				if now.size += len(s) + 1; now.size > maxRecord {
					return fmt.Errorf("transfer: line %d: %w", n, ErrTooLong)
				}
				now.text = append(now.text, s)
			}
			continue
		}
		if err := flush(); err != nil {
			return err
		}
		raw = strings.TrimSuffix(strings.TrimRight(raw, " "), strings.TrimSpace(shut))
		if first {
			first = false
			if err := readHead([]byte(raw)); err != nil {
				return err
			}
			continue
		}
		rec, known, err := parseComment(raw)
		if err != nil {
			t.skip(fmt.Sprintf("line %d", n), err)
			continue
		}
		if known {
			now.at, now.rec, now.text, now.size = n, &rec, nil, 0
		}
	}
	if err := scanError(in); err != nil {
		return err
	}
	if first {
		return fmt.Errorf("%w: the file does not start with the header of a Hob export", ErrFormat)
	}
	return flush()
}

// parseComment parses a comment: a record, or a marker between records.
func parseComment(raw string) (rec Record, known bool, err error) {
	var mark struct {
		Section *string         `json:"section"`
		End     json.RawMessage `json:"end"`
	}
	if err := decodeStrict([]byte(raw), &mark); err != nil {
		return rec, false, err
	}
	if mark.Section != nil || mark.End != nil {
		return rec, false, nil
	}
	if err := decodeStrict([]byte(raw), &rec); err != nil {
		return rec, false, err
	}
	if rec.Kind() == "" {
		return rec, false, errors.New("unknown record type")
	}
	return rec, true, nil
}

// restoreText restores the text of a record.
func restoreText(r Record, lines []string) {
	if len(lines) > 0 && lines[len(lines)-1] == "" { // the empty line between two items
		lines = lines[:len(lines)-1]
	}
	headed := func() string {
		if len(lines) > 0 && strings.HasPrefix(lines[0], "### ") {
			lines = lines[1:]
		}
		return html.UnescapeString(strings.Join(lines, "\n"))
	}
	switch {
	case r.Fact != nil:
		for i, l := range lines {
			if i == 0 {
				lines[i] = strings.TrimPrefix(l, "- ")
			} else {
				lines[i] = strings.TrimPrefix(l, "  ")
			}
		}
		r.Fact.Text = html.UnescapeString(strings.Join(lines, "\n"))
	case r.Note != nil:
		r.Note.Text = headed()
	case r.Chunk != nil:
		r.Chunk.Text = headed()
	case r.Turn != nil:
		r.Turn.Text = headed()
	}
}
