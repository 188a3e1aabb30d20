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

// maxSummary is the maximum length of a summary in characters. The details below the summary are
// complete.
const maxSummary = 600

// MaxChat is the maximum number of characters of an approval request in a chat: 3 long messages, or
// 10 short ones. People do not read more in a chat.
const MaxChat = 10_000

// ErrTooLong is returned for an approval in a chat if the request is too long to be displayed
// there.
var ErrTooLong = errors.New("this approval request is too long for a chat; read and answer it with hob approvals show ID, or on my page")

func callSummary(t tools.Tool, args json.RawMessage) string {
	if s, ok := t.(tools.Summarizer); ok {
		return abbreviateVisible(s.Summary(args), maxSummary)
	}
	return t.Spec().Name
}

// abbreviateVisible formats a line for display. If the line is too long, it truncates the line and
// adds an ellipsis.
func abbreviateVisible(s string, most int) string {
	s = escapeInvisible(s)
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-2]) + " …"
}

// escapeInvisible returns the complete text s on one visible line. It escapes line breaks,
// bidirectional controls and invisible characters, because the model chose them.
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

// isBlankRune reports whether r is a character that Unicode counts as printable but that shows
// nothing: Hangul fillers, the empty Braille pattern, unwritten Khmer vowels, joiners and variation
// selectors.
func isBlankRune(r rune) bool {
	switch {
	case r == 0x034F, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0x2800, r == 0x3164, r == 0xFFA0:
		return true
	case r >= 0x180B && r <= 0x180F, r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0100 && r <= 0xE01EF:
		return true
	}
	return false
}

// CallText returns the call with tool and arguments for the owner to read. It is complete and
// contains no invisible characters.
func (a Approval) CallText() string {
	if args := strings.TrimSpace(string(a.Arguments)); args != "" && args != "{}" && args != "null" {
		return a.Tool + " " + escapeInvisible(args)
	}
	return a.Tool
}

// DetailsLength returns the length of the request's details in characters.
func (a Approval) DetailsLength() int {
	return utf8.RuneCountInString(a.CallText()) + utf8.RuneCountInString(a.Why) + utf8.RuneCountInString(a.Exact)
}

// TooLong reports whether the combined text of the requests is too long for a chat.
func TooLong(list []Approval) bool {
	n := 0
	for _, a := range list {
		n += a.DetailsLength()
	}
	return n > MaxChat
}

// ShownWhole returns ErrTooLong for a request or batch that no chat has shown completely.
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

// ofBatch lists all requests in a batch, decided or not.
func (g *Guard) ofBatch(ctx context.Context, batch string) (out []Approval, err error) {
	rows, err := g.db.Read().QueryContext(ctx, `SELECT `+approvalColumns+` FROM approvals WHERE batch = ? AND batch <> ''`, batch)
	if err != nil {
		return nil, fmt.Errorf("guard: read approval requests: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		a, err := scanApproval(rows)
		if err != nil {
			return nil, fmt.Errorf("guard: read approval requests: %w", err)
		}
		out = append(out, a)
	}
	return out, rows.Err()
}
