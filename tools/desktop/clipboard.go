package desktop

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/platform/host/desktop/clipboard"
	"hob/platform/provenance"
	"hob/platform/text/redact"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type getIn struct{}

// clipOut is the Data of a get_clipboard result.
type clipOut struct {
	Text    string   `json:"text"`
	Cut     bool     `json:"cut,omitempty"`
	Formats []string `json:"formats,omitempty"`
}

func (d Deps) getClipboard() tools.Tool {
	return tools.New(tools.Def[getIn]{
		Spec: tools.Spec{
			Name: "get_clipboard", Category: "desktop", Effects: tools.Read,
			Description: "Read the text on the user's clipboard. If it looks like a password, the user is asked first.",
			Keywords:    "clipboard copied copy paste pasted selection what did I copy cut",
		},
		Summary: func(getIn) string { return "Read the clipboard" },
		Judge:   func(ctx context.Context, _ getIn) tools.CallAssessment { return d.judgeClip(ctx) },
		Run: func(ctx context.Context, c tools.Call, _ getIn) (tools.Result, error) {
			held, err := d.Clipboard.Read(ctx)
			if err != nil {
				return tools.Result{}, classifyError(err)
			}
			if j := d.assessClipboard(held); j.Exact != c.Exact {
				return tools.Result{}, tools.Errorf(tools.Conflict, "the clipboard has changed since the approval; nothing was read")
			}
			return clipResult(held), nil
		},
	})
}

func clipResult(held clipboard.Content) tools.Result {
	r := tools.Result{Source: provenance.Tool, Data: clipOut{held.Text, held.Cut, held.Formats}}
	switch {
	case held.Text != "":
		r.Text, r.Source, r.Origins = held.Text, provenance.Outside, desktopOrigins("clipboard")
		if held.Cut {
			r.Text += "\n(The clipboard contains more.)"
		}
	case len(held.Formats) > 0:
		r.Text = "The clipboard contains no text, but something else was copied."
		for _, f := range held.Formats {
			if strings.HasPrefix(f, "image/") || strings.Contains(f, "picture") || f == "public.png" || f == "public.tiff" {
				r.Text = "The clipboard contains a picture and no text."
			}
		}
	default:
		r.Text = "The clipboard is empty."
	}
	return r
}

// judgeClip assesses the clipboard content. Text that may be a secret needs approval.
func (d Deps) judgeClip(ctx context.Context) tools.CallAssessment {
	held, err := d.Clipboard.Read(ctx)
	if err != nil { // the call itself will report the error
		return tools.CallAssessment{Effects: tools.Read, Private: true}
	}
	return d.assessClipboard(held)
}

func (d Deps) assessClipboard(held clipboard.Content) tools.CallAssessment {
	j := tools.CallAssessment{Effects: tools.Read, Private: true}
	switch {
	case held.Hidden:
		j.Why = "a password manager copied this"
	case isLikelySecret(held.Text):
		j.Why = "the text looks like a password"
	default:
		return j
	}
	mac := hmac.New(sha256.New, d.Key)
	mac.Write([]byte(held.Text))
	j.Effects, j.Exact = tools.Read|tools.Secret, "clipboard "+hex.EncodeToString(mac.Sum(nil)[:16])
	return j
}

// isLikelySecret reports whether s looks like a secret: it is one word of mixed characters that is
// not an address, number or path, or it has the format of a key or a card number.
func isLikelySecret(s string) bool {
	s = strings.TrimSpace(s)
	if redact.Shapes(s) != s {
		return true
	}
	n := utf8.RuneCountInString(s)
	if n < 8 || n > 128 || strings.ContainsFunc(s, unicode.IsSpace) || strings.Contains(s, "://") || strings.HasPrefix(s, "/") || strings.HasPrefix(s, "~") || strings.HasPrefix(s, "www.") {
		return false
	}
	var lower, upper, digit, other, turns int
	var last rune
	for _, r := range s {
		if unicode.IsDigit(r) && unicode.IsLetter(last) || unicode.IsLetter(r) && unicode.IsDigit(last) {
			turns++
		}
		last = r
		switch {
		case unicode.IsLower(r):
			lower = 1
		case unicode.IsUpper(r):
			upper = 1
		case unicode.IsDigit(r):
			digit++
		default:
			other = 1
		}
	}
	if local, host, ok := strings.Cut(s, "@"); ok && local != "" && strings.Contains(host, ".") && !strings.Contains(host, "@") {
		return false // an address
	}
	return lower+upper+min(digit, 1)+other >= 3 || n >= 16 && turns >= 4 // mixed characters, or a token
}

type setIn struct {
	Text string `json:"text"`
}

// setUndo holds the previous clipboard content and the text that replaced it.
type setUndo struct {
	Before string `json:"before"`
	Set    string `json:"set"`
}

func (d Deps) setClipboard() tools.Tool {
	return tools.New(tools.Def[setIn]{
		Spec: tools.Spec{
			Name: "set_clipboard", Category: "desktop", Effects: tools.Write,
			Description: "Copy text to the user's clipboard.",
			Keywords:    "clipboard copy put paste pasteboard",
		},
		Summary: func(in setIn) string {
			return fmt.Sprintf("Copy to the clipboard: %q", textnorm.Ellipsize(in.Text, 500))
		},
		Judge: func(_ context.Context, in setIn) tools.CallAssessment {
			switch {
			case in.Text == "":
				return tools.CallAssessment{Refused: tools.Errorf(tools.InvalidArguments, "the text is empty")}
			case len(in.Text) > clipboard.MaxText:
				return tools.CallAssessment{Refused: tools.Errorf(tools.InvalidArguments, "the text is longer than %d bytes", clipboard.MaxText)}
			}
			return tools.CallAssessment{}
		},
		Run: func(ctx context.Context, _ tools.Call, in setIn) (tools.Result, error) {
			before, err := d.Clipboard.Read(ctx)
			if err != nil {
				return tools.Result{}, classifyError(err)
			}
			if err := d.Clipboard.Write(ctx, in.Text); err != nil {
				return tools.Result{}, classifyError(err)
			}
			r := tools.Result{Source: provenance.Tool, Text: "Copied to the clipboard."}
			if before.Text != "" && !before.Hidden && !before.Cut && !isLikelySecret(before.Text) && len(before.Text) <= 10_000 {
				r.Undo = tools.NewUndo("restore the previous clipboard content", setUndo{before.Text, in.Text})
			}
			return r, nil
		},
		Undo: func(ctx context.Context, data json.RawMessage) (string, error) {
			var u setUndo
			if err := json.Unmarshal(data, &u); err != nil {
				return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
			}
			now, err := d.Clipboard.Read(ctx)
			if err != nil {
				return "", classifyError(err)
			}
			if strings.TrimRight(now.Text, "\r\n") != strings.TrimRight(u.Set, "\r\n") {
				return "", tools.Errorf(tools.Conflict, "the clipboard has changed; undo would overwrite the new content")
			}
			if err := d.Clipboard.Write(ctx, u.Before); err != nil {
				return "", classifyError(err)
			}
			return "Restored the previous clipboard content.", nil
		},
	})
}
