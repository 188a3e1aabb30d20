package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/tools"
)

// maxSummary is the maximum length of a summary in characters. The details below it are
// complete.
const maxSummary = 600

// MaxChat is the maximum number of characters of an approval request in a chat: three long
// messages, or ten short ones. People do not read more there.
const MaxChat = 10_000

// ErrTooLong is returned for an approval in a chat if the question is too long to be displayed
// there.
var ErrTooLong = errors.New("this question is too long to be approved in a chat; read it with hob approvals show ID or on my page, and answer there")

func callSummary(t tools.Tool, args json.RawMessage) string {
	if s, ok := t.(tools.Summarizer); ok {
		return abbreviateVisible(s.Summary(args), maxSummary)
	}
	return t.Spec().Name
}

// abbreviateVisible formats a line for display and may truncate it, with an ellipsis.
func abbreviateVisible(s string, most int) string {
	s = escapeInvisible(s)
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-2]) + " …"
}

// escapeInvisible returns a complete text on one visible line: it escapes line breaks, bidirectional
// controls and invisible characters, because the model chose them.
func escapeInvisible(s string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		if r == ' ' || unicode.IsPrint(r) && !isBlankRune(r) {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRuneToASCII(r)
		if q = q[1 : len(q)-1]; isBlankRune(r) {
			q = fmt.Sprintf("\\u%04x", r)
		}
		b.WriteString(q)
	}
	return b.String()
}

// isBlankRune reports characters that Unicode counts as printable and that show nothing: fillers
// of Hangul, the empty Braille pattern, vowels of Khmer that are not written, joiners and
// variation selectors.
func isBlankRune(r rune) bool {
	switch {
	case r == 0x034F, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0x2800, r == 0x3164, r == 0xFFA0:
		return true
	case r >= 0x180B && r <= 0x180F, r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0100 && r <= 0xE01EF:
		return true
	}
	return false
}

// CallText returns the call, tool and arguments, for the owner to read: complete, and without
// invisible characters.
func (a Approval) CallText() string {
	if args := strings.TrimSpace(string(a.Arguments)); args != "" && args != "{}" && args != "null" {
		return a.Tool + " " + escapeInvisible(args)
	}
	return a.Tool
}

// DetailsLength returns the number of characters of the question's details.
func (a Approval) DetailsLength() int {
	return utf8.RuneCountInString(a.CallText()) + utf8.RuneCountInString(a.Why) + utf8.RuneCountInString(a.Exact)
}

// TooLong reports whether the combined text of the questions is too long for a chat.
func TooLong(list []Approval) bool {
	n := 0
	for _, a := range list {
		n += a.DetailsLength()
	}
	return n > MaxChat
}

// ShownWhole returns ErrTooLong for a question or batch that no chat has shown completely.
func (g *Guard) ShownWhole(ctx context.Context, id string) error {
	var list []Approval
	if !IsBatch(id) {
		a, err := g.Approval(ctx, id)
		if err != nil {
			return err
		}
		list, id = []Approval{a}, a.Batch
	}
	if id != "" {
		var err error
		if list, err = g.ofBatch(ctx, id); err != nil {
			return err
		}
	}
	if TooLong(list) {
		return fmt.Errorf("approval %s: %w", id, ErrTooLong)
	}
	return nil
}

// ofBatch lists all questions of a batch, decided or not.
func (g *Guard) ofBatch(ctx context.Context, batch string) (out []Approval, err error) {
	rows, err := g.db.Read().QueryContext(ctx, `SELECT `+approvalColumns+` FROM approvals WHERE batch = ? AND batch <> ''`, batch)
	if err != nil {
		return nil, fmt.Errorf("guard: approvals: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		a, err := scanApproval(rows)
		if err != nil {
			return nil, fmt.Errorf("guard: approvals: %w", err)
		}
		out = append(out, a)
	}
	return out, rows.Err()
}
