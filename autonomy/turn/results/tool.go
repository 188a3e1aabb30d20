package results

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"hob/autonomy/bus"
	"hob/platform/provenance"
	"hob/tools"
)

// ToolName is the name of the tool.
const ToolName = "read_result"

// One page is shorter than the length at which results are shortened.
const (
	maxRead    = 14_000
	maxMatches = 20
	around     = 200 // bytes shown on each side of a match
)

type readIn struct {
	ID     string `json:"id" jsonschema:"id of the call, as given in the shortened result"`
	Offset int    `json:"offset,omitempty" jsonschema:"position of the first character, from 0"`
	Limit  int    `json:"limit,omitempty" jsonschema:"number of characters, at most 14000"`
	Search string `json:"search,omitempty" jsonschema:"instead: show where this text occurs"`
}

// readOut is the Data of read_result.
type readOut struct {
	ID    string `json:"id"`
	Size  int    `json:"size"`
	From  int    `json:"from"`
	To    int    `json:"to"`
	Found int    `json:"found,omitempty"`
}

// Tool returns the tool that reads stored results. look finds a call in the ledger. A result can be
// read only in its own conversation and keeps its provenance.
func Tool(k *Store, look func(ctx context.Context, call string) (bus.Entry, error)) tools.Tool {
	return tools.New(tools.Def[readIn]{
		Spec: tools.Spec{
			Name: ToolName, Category: "engine", Effects: tools.Read,
			Description: "Read the omitted part of a long result of an earlier call, or search it.",
			Keywords:    "whole full rest shortened cut truncated output long",
		},
		Summary: func(in readIn) string { return "Read the result of " + in.ID },
		Run: func(ctx context.Context, c tools.Call, in readIn) (tools.Result, error) {
			if in.Offset < 0 || in.Limit < 0 {
				return tools.Result{}, tools.Errorf(tools.InvalidArguments, "offset and limit cannot be negative")
			}
			e, err := look(ctx, in.ID)
			if errors.Is(err, bus.ErrNotFound) || err == nil && e.Session != c.Session {
				return tools.Result{}, tools.Errorf(tools.NotFound, "this conversation has no call %q", tools.Clean(in.ID))
			}
			if err != nil {
				return tools.Result{}, err
			}
			text, err := k.Get(in.ID)
			if errors.Is(err, ErrGone) {
				return tools.Result{}, &tools.Error{Source: provenance.Tool, Code: tools.NotFound, Message: fmt.Sprintf("the full result of %s is no longer stored", in.ID), Remedy: "repeat the call if it only reads"}
			}
			if err != nil {
				return tools.Result{}, err
			}
			r := tools.Result{Source: e.Source, Origins: e.Origins}
			if in.Search != "" {
				r.Text, r.Data = findText(text, in)
				return r, nil
			}
			var out readOut
			if r.Text, out, err = readPage(text, in); err != nil {
				return tools.Result{}, err
			}
			r.Data = out
			return r, nil
		},
	})
}

// readPage returns a part of text, and the position at which the rest begins.
func readPage(text string, in readIn) (string, readOut, error) {
	out := readOut{ID: in.ID, Size: len(text)}
	if in.Offset >= len(text) {
		return "", out, tools.Errorf(tools.InvalidArguments, "the result has %d characters; the offset must be smaller", len(text))
	}
	limit := in.Limit
	if limit == 0 || limit > maxRead {
		limit = maxRead
	}
	out.From = runeStart(text, in.Offset)
	out.To = runeStart(text, min(len(text), in.Offset+limit))
	if out.To <= out.From { // a single rune is longer than the limit
		_, n := utf8.DecodeRuneInString(text[out.From:])
		out.To = out.From + n
	}
	note := fmt.Sprintf("\n[%d to %d of %d", out.From, out.To, out.Size)
	if out.To < out.Size {
		note += fmt.Sprintf("; continue with offset %d", out.To)
	}
	return text[out.From:out.To] + note + "]", out, nil
}

// findText lists the positions at which the searched text occurs.
func findText(text string, in readIn) (string, readOut) {
	out := readOut{ID: in.ID, Size: len(text)}
	low, want := lowerSameLength(text), lowerSameLength(in.Search)
	var b strings.Builder
	for at := min(in.Offset, len(text)); ; {
		i := strings.Index(low[at:], want)
		if i < 0 {
			break
		}
		at += i
		if out.Found++; out.Found <= maxMatches {
			from, to := runeStart(text, max(0, at-around)), runeStart(text, min(len(text), at+len(want)+around))
			fmt.Fprintf(&b, "[at %d] %s\n", at, strings.Join(strings.Fields(text[from:to]), " "))
		}
		at += len(want)
	}
	if out.Found == 0 {
		return fmt.Sprintf("%q does not occur in the result of %s.", in.Search, in.ID), out
	}
	fmt.Fprintf(&b, "[%d matches in %d characters; to read one, call this tool with its offset]", out.Found, out.Size)
	return b.String(), out
}

// lowerSameLength returns s in lower case without changing its length. If full conversion would
// shift positions, it converts only ASCII letters.
func lowerSameLength(s string) string {
	if l := strings.ToLower(s); len(l) == len(s) {
		return l
	}
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// runeStart returns the largest index not above i at which a rune starts.
func runeStart(s string, i int) int {
	for j := i; j > max(0, i-utf8.UTFMax) && j < len(s); j-- {
		if utf8.RuneStart(s[j]) {
			return j
		}
	}
	return i
}
