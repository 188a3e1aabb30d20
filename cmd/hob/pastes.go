package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"hob/channels"
	"hob/channels/web"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/textnorm"
)

// The marks that enclose a paste in a terminal in bracketed paste mode (xterm, "Bracketed Paste
// Mode").
const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// pasteFolder reads a terminal and replaces each paste of more than channels.MaxTyped characters
// with a short placeholder, for which it stores the text. Other input passes unchanged. Only the
// goroutine that reads uses it.
type pasteFolder struct {
	in      io.Reader
	out     []byte // bytes that the next Read returns
	held    []byte // possible start of a paste mark
	pasting bool
	text    []byte // text of the paste that is currently being read
	dropped bool   // whether the text became too long
	err     error  // error from in, returned after out has been read
	kept    map[int]string
}

// Read implements io.Reader.
func (p *pasteFolder) Read(b []byte) (int, error) {
	chunk := make([]byte, 4096)
	for len(p.out) == 0 {
		if p.err != nil {
			return 0, p.err
		}
		n, err := p.in.Read(chunk)
		for _, c := range chunk[:n] {
			p.takeByte(c)
		}
		if err != nil { // the held bytes are not a mark
			p.out, p.held, p.err = append(p.out, p.held...), nil, err
		}
	}
	n := copy(b, p.out)
	p.out = p.out[n:]
	return n, nil
}

// takeByte processes one byte.
func (p *pasteFolder) takeByte(c byte) {
	mark := pasteStart
	if p.pasting {
		mark = pasteEnd
	}
	if p.held = append(p.held, c); strings.HasPrefix(mark, string(p.held)) {
		if len(p.held) == len(mark) {
			p.held = nil
			p.turnOver()
		}
		return
	}
	for len(p.held) > 0 && !strings.HasPrefix(mark, string(p.held)) {
		p.passByte(p.held[0])
		p.held = p.held[1:]
	}
}

// passByte forwards a byte that does not belong to a mark. Ctrl-C drops a paste that has not ended.
func (p *pasteFolder) passByte(c byte) {
	switch {
	case !p.pasting:
		p.out = append(p.out, c)
	case c == 0x03:
		p.pasting, p.text, p.dropped = false, nil, false
		p.out = append(p.out, c)
	case len(p.text) >= web.MaxText:
		p.dropped = true
	default:
		p.text = append(p.text, c)
	}
}

// turnOver begins or ends a paste.
func (p *pasteFolder) turnOver() {
	if p.pasting = !p.pasting; p.pasting {
		p.text, p.dropped = nil, false
		return
	}
	text := strings.ToValidUTF8(string(bytes.ReplaceAll(p.text, []byte("\r"), []byte("\n"))), "\uFFFD")
	if utf8.RuneCountInString(text) <= channels.MaxTyped {
		p.out = append(append(append(p.out, pasteStart...), p.text...), pasteEnd...)
		p.text = nil
		return
	}
	if p.text = nil; p.dropped {
		p.out = append(p.out, "[a paste that was too long]"...)
		return
	}
	if p.kept == nil {
		p.kept = map[int]string{}
	}
	n := len(p.kept) + 1
	p.kept[n] = text
	p.out = append(p.out, pastePlaceholder(n, text)...)
}

// pastePlaceholder returns the text that replaces paste n while the line is edited.
func pastePlaceholder(n int, text string) string { return "[pasted text #" + pasteName(n, text) + "]" }

func pasteName(n int, text string) string {
	return fmt.Sprintf("%d, %s", n, textnorm.FormatLength(text))
}

var pasteMark = lazyregexp.New(`\[pasted text #(\d+), [\d,]+ characters\]`)

// pastedText is one paste in a line.
type pastedText struct{ mark, name, text string }

// pastesIn returns the pastes whose placeholders are in line, each once.
func (p *pasteFolder) pastesIn(line string) (out []pastedText) {
	seen := map[string]bool{}
	for _, m := range pasteMark.FindAllStringSubmatch(line, -1) {
		n, err := strconv.Atoi(m[1])
		text, ok := p.kept[n]
		if err != nil || !ok || seen[m[0]] || pastePlaceholder(n, text) != m[0] {
			continue // the user typed this placeholder
		}
		seen[m[0]] = true
		out = append(out, pastedText{mark: m[0], name: "#" + pasteName(n, text), text: text})
	}
	return out
}

// mineCommand declares the pastes in a line as the user's own text.
const mineCommand = "/mine"

// errNothingToVouch means that /mine was used without text.
var errNothingToVouch = errors.New("write your message after " + mineCommand + ": pasted text in it then counts as your own words")

// messageBody returns the message for a line in a chat. It marks as untrusted the pastes that the
// user did not declare as their own, and all text from a pipe.
func (l line) messageBody(piped bool) (web.Message, error) {
	text := strings.TrimSpace(l.text)
	if piped {
		return userInput{piped: text}.messageBody(), nil
	}
	rest, vouched := strings.CutPrefix(text, mineCommand)
	if vouched = vouched && (rest == "" || rest[0] == ' '); vouched {
		text = strings.TrimSpace(rest)
		for _, p := range l.pastes {
			text = strings.ReplaceAll(text, p.mark, p.text)
		}
		if text == "" {
			return web.Message{}, errNothingToVouch
		}
	}
	if vouched || len(l.pastes) == 0 {
		return userInput{typed: text}.messageBody(), nil
	}
	var parts []channels.TextPart
	typed := text
	for _, p := range l.pastes {
		typed = strings.ReplaceAll(typed, p.mark, "")
	}
	if strings.TrimSpace(typed) != "" { // the placeholders mark the positions of the pastes
		parts = append(parts, channels.TextPart{Text: text, Origin: channels.Typed})
	}
	for _, p := range l.pastes {
		parts = append(parts, channels.TextPart{Text: p.text, Origin: channels.Pasted, Name: p.name})
	}
	return web.Message{Parts: parts}, nil
}
