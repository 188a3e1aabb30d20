package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"
)

// screen is where a chat is shown and typed: a terminal with a line editor, or
// pipes.
type screen interface {
	// note prints a separate text on whole lines.
	note(colour, text string)
	// paragraph begins an answer that arrives in pieces.
	paragraph() paragraph
	// lines yields what is typed; the last one carries an error, io.EOF at the
	// end. It is called once.
	lines(ctx context.Context) <-chan line
	// interrupts yields each Ctrl-C that was typed.
	interrupts() <-chan struct{}
}

// paragraph takes the pieces of an answer.
type paragraph interface {
	add(text string)
	// end completes the last line; more may be added after it.
	end()
}

type line struct {
	text   string
	pastes []pasted // the pastes that were folded in text
	err    error
}

// newScreen chooses by whether both ends are a terminal. restore gives the
// terminal back.
func (a *app) newScreen(session string) (s screen, restore func() error, tty bool, err error) {
	fd, in := terminal(a.in)
	_, out := terminal(a.out)
	if !in || !out {
		return &pipes{in: a.in, out: a.out}, func() error { return nil }, false, nil
	}
	old, err := term.MakeRaw(fd)
	if err != nil {
		return nil, nil, false, fmt.Errorf("take over the terminal: %w", err)
	}
	t := &editor{app: a, fd: fd, typed: make(chan struct{}, 1), width: 80, pastes: &pasteFolder{in: a.in}}
	prompt := "> "
	if session != cliSession {
		prompt = session + "> "
	}
	t.term = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{&ctrlC{in: t.pastes, typed: t.typed}, drawing(a.out)}, printable(prompt))
	t.term.SetBracketedPasteMode(true)
	t.measure()
	return t, func() error {
		t.term.SetBracketedPasteMode(false)
		_, err := io.WriteString(drawing(a.out), "\r\n") // leave the line with the prompt
		return errors.Join(err, term.Restore(fd, old))
	}, true, nil
}

// readLines calls read until it fails and passes everything on. The goroutine
// ends with the input, or with the process: reading a terminal cannot be
// cancelled.
func readLines(ctx context.Context, read func() (line, error)) <-chan line {
	out := make(chan line)
	go func() {
		for {
			l, err := read()
			if l.text != "" || err == nil {
				select {
				case out <- l:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				select {
				case out <- line{err: err}:
				case <-ctx.Done():
				}
				return
			}
		}
	}()
	return out
}

// pipes is a screen without a terminal.
type pipes struct {
	in io.Reader

	mu   sync.Mutex
	out  io.Writer
	open bool // an answer has an unfinished line
}

func (p *pipes) note(_, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endLine()
	fmt.Fprintln(p.out, text)
}

func (p *pipes) endLine() {
	if p.open {
		fmt.Fprintln(p.out)
		p.open = false
	}
}

func (p *pipes) paragraph() paragraph { return p }

func (p *pipes) add(text string) {
	text = printable(text)
	if text == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = io.WriteString(p.out, text) // a closed pipe ends the process by SIGPIPE
	p.open = !strings.HasSuffix(text, "\n")
}

func (p *pipes) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endLine()
}

func (p *pipes) lines(ctx context.Context) <-chan line {
	r := bufio.NewReader(p.in)
	return readLines(ctx, func() (line, error) {
		s, err := r.ReadString('\n')
		return line{text: strings.TrimRight(s, "\r\n")}, err
	})
}

func (p *pipes) interrupts() <-chan struct{} { return nil }

// editor is a screen with a line editor; output appears above the line being typed.
type editor struct {
	app   *app
	fd    int
	term  *term.Terminal
	typed chan struct{}
	// pastes belongs to the goroutine of lines.
	pastes *pasteFolder

	mu    sync.Mutex
	width int
}

// measure takes the window's size, which may have changed, and returns its width.
func (e *editor) measure() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if w, h, err := term.GetSize(e.fd); err == nil && w > 0 && w != e.width {
		e.width = w
		_ = e.term.SetSize(w, h)
	}
	return e.width
}

func (e *editor) note(colour, text string) {
	var b strings.Builder
	width := e.measure() - 1
	for l := range strings.SplitSeq(strings.TrimRight(printable(text), "\n"), "\n") {
		for {
			head, tail, more := breakLine(l, width)
			if !more {
				break
			}
			b.WriteString(e.app.paint(e.app.out, colour, head) + "\n")
			l = tail
		}
		b.WriteString(e.app.paint(e.app.out, colour, l) + "\n")
	}
	_, _ = io.WriteString(e, b.String()) // a closed terminal also ends the input
}

func (e *editor) paragraph() paragraph {
	return &wrapped{term: e, width: e.measure(), bold: e.bold}
}

// Write shows text above the line that is being typed; see rendered.
func (e *editor) Write(b []byte) (int, error) {
	if _, err := io.WriteString(e.term, rendered(e.app.out, string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// bold shows what Markdown calls strong.
func (e *editor) bold(text string) string { return e.app.paint(e.app.out, bold, text) }

func (e *editor) lines(ctx context.Context) <-chan line {
	var before []string
	return readLines(ctx, func() (line, error) {
		for {
			s, err := e.term.ReadLine()
			if errors.Is(err, term.ErrPasteIndicator) { // a paste of several lines is one message
				before = append(before, s)
				continue
			}
			s = strings.Join(append(before, s), "\n")
			before = nil
			return line{text: s, pastes: e.pastes.pastesIn(s)}, err
		}
	})
}

func (e *editor) interrupts() <-chan struct{} { return e.typed }

// wrapped prints an answer in whole lines, broken between words, so that it never overwrites
// the line being typed.
type wrapped struct {
	term  io.Writer
	width int
	bold  func(string) string // nil: unchanged
	rest  string
}

// strong finds **words** within a line.
var strong = regexp.MustCompile(`\*\*([^*\s](?:[^*\n]*[^*\s])?)\*\*`)

// write shows whole lines.
func (w *wrapped) write(text string) {
	if w.bold != nil {
		text = strong.ReplaceAllStringFunc(text, func(s string) string { return w.bold(s[2 : len(s)-2]) })
	}
	_, _ = w.term.Write([]byte(text)) // a closed terminal also ends the input
}

func (w *wrapped) add(text string) {
	w.rest += printable(text)
	var out strings.Builder
	for {
		i := strings.IndexByte(w.rest, '\n')
		if i >= 0 && utf8.RuneCountInString(w.rest[:i]) < w.width {
			out.WriteString(w.rest[:i+1])
			w.rest = w.rest[i+1:]
			continue
		}
		head, tail, ok := breakLine(w.rest, w.width-1)
		if !ok {
			break
		}
		out.WriteString(head + "\n")
		w.rest = tail
	}
	if out.Len() > 0 {
		w.write(out.String())
	}
}

func (w *wrapped) end() {
	if strings.TrimSpace(w.rest) != "" {
		w.write(w.rest + "\n")
	}
	w.rest = ""
}

// breakLine splits a text that is longer than width at a space; false when it
// is not longer.
func breakLine(s string, width int) (head, tail string, ok bool) {
	n := 0
	for i := range s {
		if n++; n <= width {
			continue
		}
		if j := strings.LastIndexByte(s[:i], ' '); j > 0 {
			return s[:j], s[j+1:], true
		}
		return s[:i], s[i:], true
	}
	return "", "", false
}

// ctrlC removes Ctrl-C from the input, which would end the editor, and clears the line instead.
type ctrlC struct {
	in    io.Reader
	typed chan struct{}
}

func (c *ctrlC) Read(b []byte) (int, error) {
	n, err := c.in.Read(b)
	for i := range b[:n] {
		if b[i] != 0x03 {
			continue
		}
		b[i] = 0x15 // Ctrl-U deletes the line
		select {
		case c.typed <- struct{}{}:
		default:
		}
	}
	return n, err
}
