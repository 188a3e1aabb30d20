package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"hob/platform/text/visible"
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

// callSummary describes a call for an approval request. assessed is the summary in the assessment of
// the call, if any.
func callSummary(t tools.Tool, args json.RawMessage, assessed string) string {
	if assessed != "" {
		return abbreviateVisible(assessed, maxSummary)
	}
	if s, ok := t.(tools.Summarizer); ok {
		return abbreviateVisible(s.Summary(args), maxSummary)
	}
	return t.Spec().Name
}

// abbreviateVisible formats a line for display. If the line is too long, it truncates the line and
// adds an ellipsis.
func abbreviateVisible(s string, most int) string {
	s = visible.Escape(s)
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-2]) + " …"
}

// DetailsLength returns the length of the request's details in characters.
func (a Approval) DetailsLength() int {
	return utf8.RuneCountInString(a.API().CallText()) + utf8.RuneCountInString(a.Why) + utf8.RuneCountInString(a.Exact)
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
