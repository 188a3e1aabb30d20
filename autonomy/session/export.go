package session

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"hob/autonomy/llm"
	"hob/platform/store"
)

// Formats for Export.
const (
	Markdown  = "markdown"
	JSONLines = "jsonl"
)

// Export writes all messages of a conversation, oldest first, including those outside its window.
// It writes Markdown with pictures as data URLs, or one Row per line.
func (s *Sessions) Export(ctx context.Context, session, format string, zone *time.Location, w io.Writer) error {
	info, ok, err := s.Get(ctx, session)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%s: %w", session, ErrNoSession)
	}
	out := bufio.NewWriter(w)
	line := func(r Row) error {
		e := json.NewEncoder(out)
		e.SetEscapeHTML(false)
		return e.Encode(r)
	}
	switch format {
	case JSONLines:
	case Markdown:
		fmt.Fprintf(out, "# %s\n\n%s, %d turns, %s to %s\n", singleLine(info.ID), info.Channel, info.Turns,
			info.CreatedAt.In(zone).Format("2006-01-02 15:04"), info.UpdatedAt.In(zone).Format("2006-01-02 15:04 MST"))
		line = func(r Row) error { return writeMarkdown(out, r, zone) }
	default:
		return fmt.Errorf("unknown format %q; use %s or %s", format, Markdown, JSONLines)
	}
	if err := s.walkMessages(ctx, session, line); err != nil {
		return fmt.Errorf("session: export conversation: %w", err)
	}
	return out.Flush()
}

// walkMessages calls fn for each message in a conversation, oldest first.
func (s *Sessions) walkMessages(ctx context.Context, session string, fn func(Row) error) error {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT id, turn, message, created_at FROM messages WHERE session = ? ORDER BY id`, session)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scanRow(rows)
		if err != nil {
			return err
		}
		if err := fn(r); err != nil {
			return err
		}
	}
	return rows.Err()
}

func scanRow(rows interface{ Scan(...any) error }) (r Row, err error) {
	var raw []byte
	var at int64
	if err = rows.Scan(&r.ID, &r.Turn, &raw, &at); err == nil {
		err = json.Unmarshal(raw, &r.Message)
	}
	r.CreatedAt = store.Time(at)
	return r, err
}

// writeMarkdown writes one message. It puts text in a code fence, so that the text cannot be
// mistaken for headings.
func writeMarkdown(w io.Writer, r Row, zone *time.Location) error {
	var b strings.Builder
	for _, p := range r.Message.Parts {
		switch {
		case p.Context || p.Reasoning != nil:
		case p.Image != nil:
			fmt.Fprintf(&b, "\n![picture](data:%s;base64,%s)\n", strings.NewReplacer(")", "", "\n", "").Replace(p.Image.MIME), base64.StdEncoding.EncodeToString(p.Image.Data))
		case p.Call != nil:
			fmt.Fprintf(&b, "\nCalls %s:\n\n%s", singleLine(p.Call.Name), fenceText("json", string(p.Call.Args)))
		case p.Result != nil:
			fmt.Fprintf(&b, "\n%s answered:\n\n%s", singleLine(p.Result.Name), fenceText("", p.Result.Text))
		case strings.TrimSpace(p.Text) == "":
		case p.Source.Tainted() && r.Message.Role != llm.Assistant:
			fmt.Fprintf(&b, "\nFrom outside:\n\n%s", fenceText("", p.Text))
		default:
			fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(p.Text))
		}
	}
	if b.Len() == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "\n## %s, %s (message %d)\n%s", SpeakerOf(r.Message), r.CreatedAt.In(zone).Format("2006-01-02 15:04"), r.ID, b.String())
	return err
}

// fenceText encloses s in more backquotes than the longest run of backquotes in s.
func fenceText(lang, s string) string {
	n, run := 3, 0
	for _, c := range s {
		if run++; c != '`' {
			run = 0
		}
		n = max(n, run+1)
	}
	f := strings.Repeat("`", n)
	return f + lang + "\n" + strings.TrimRight(s, "\n") + "\n" + f + "\n"
}

// singleLine returns a name on a single line.
func singleLine(s string) string { return squeezeSpace(strings.ReplaceAll(s, "#", "")) }
