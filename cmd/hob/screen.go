package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"hob/platform/text/lazyregexp"

	"golang.org/x/term"
)

// screen shows a chat and reads its input. It is a terminal with a line editor, or a pair of pipes.
type screen interface {
	// printNote prints text on separate lines, apart from an answer.
	printNote(color, text string)
	// newParagraph begins an answer that arrives in pieces.
	newParagraph() paragraph
	// readInput yields the lines that the user types. The last one carries an error, which is
	// io.EOF at the end of the input. readInput is called once.
	readInput(ctx context.Context) <-chan line
	// interruptSignals yields a value for each Ctrl-C that the user types.
	interruptSignals() <-chan struct{}
}

// paragraph is an answer that arrives in pieces.
type paragraph interface {
	addText(text string)
	// endText completes the last line. More text may follow.
	endText()
}

type line struct {
	text   string
	pastes []pastedText // the pastes whose placeholders are in text
	err    error
}

// newScreen returns the screen: a terminal if both input and output are terminals, otherwise pipes.
// restore resets the terminal.
func (a *cli) newScreen(session string) (s screen, restore func() error, tty bool, err error) {
	fd, in := terminalFD(a.in)
	_, out := terminalFD(a.out)
	if !in || !out {
		return &pipeScreen{in: a.in, out: a.out}, func() error { return nil }, false, nil
	}
	old, err := term.MakeRaw(fd)
	if err != nil {
		return nil, nil, false, fmt.Errorf("switch the terminal to raw mode: %w", err)
	}
	t := &terminalScreen{app: a, fd: fd, typed: make(chan struct{}, 1), width: 80, pastes: &pasteFolder{in: a.in}}
	prompt := "> "
	if session != cliSession {
		prompt = session + "> "
	}
	t.term = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{&ctrlC{in: t.pastes, typed: t.typed}, rawWriter(a.out)}, sanitizePrintable(prompt))
	t.term.SetBracketedPasteMode(true)
	t.measureWidth()
	return t, func() error {
		t.term.SetBracketedPasteMode(false)
		_, err := io.WriteString(rawWriter(a.out), "\r\n") // end the line that shows the prompt
		return errors.Join(err, term.Restore(fd, old))
	}, true, nil
}

// readLines calls read until it fails and sends each result to the returned channel. The goroutine
// ends with the input or with the process, because reading a terminal cannot be canceled.
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

// pipeScreen is a screen without a terminal.
type pipeScreen struct {
	in io.Reader

	mu   sync.Mutex
	out  io.Writer
	open bool // whether the last line of an answer is incomplete
}

func (p *pipeScreen) printNote(_, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endLine()
	fmt.Fprintln(p.out, text)
}

func (p *pipeScreen) endLine() {
	if p.open {
		fmt.Fprintln(p.out)
		p.open = false
	}
}

func (p *pipeScreen) newParagraph() paragraph { return p }

func (p *pipeScreen) addText(text string) {
	text = sanitizePrintable(text)
	if text == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = io.WriteString(p.out, text) // a closed pipe ends the process with SIGPIPE
	p.open = !strings.HasSuffix(text, "\n")
}

func (p *pipeScreen) endText() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endLine()
}

func (p *pipeScreen) readInput(ctx context.Context) <-chan line {
	r := bufio.NewReader(p.in)
	return readLines(ctx, func() (line, error) {
		s, err := r.ReadString('\n')
		return line{text: strings.TrimRight(s, "\r\n")}, err
	})
}

func (p *pipeScreen) interruptSignals() <-chan struct{} { return nil }

// terminalScreen is a screen with a line editor; output appears above the line being typed.
type terminalScreen struct {
	app   *cli
	fd    int
	term  *term.Terminal
	typed chan struct{}
	// Only the goroutine of readLines uses pastes.
	pastes *pasteFolder

	mu    sync.Mutex
	width int
}

// measureWidth reads the window size, which may have changed, and returns the width.
func (e *terminalScreen) measureWidth() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if w, h, err := term.GetSize(e.fd); err == nil && w > 0 && w != e.width {
		e.width = w
		_ = e.term.SetSize(w, h)
	}
	return e.width
}

func (e *terminalScreen) printNote(color, text string) {
	var b strings.Builder
	width := e.measureWidth() - 1
	for l := range strings.SplitSeq(strings.TrimRight(sanitizePrintable(text), "\n"), "\n") {
		for {
			head, tail, more := breakLine(l, width)
			if !more {
				break
			}
			b.WriteString(e.app.colorize(e.app.out, color, head) + "\n")
			l = tail
		}
		b.WriteString(e.app.colorize(e.app.out, color, l) + "\n")
	}
	_, _ = io.WriteString(e, b.String()) // an error means that the terminal is closed, which also ends the input
}

func (e *terminalScreen) newParagraph() paragraph {
	return &wrappedText{term: e, width: e.measureWidth(), bold: e.boldText}
}

// Write shows text above the line that is being typed. See trustControls for the characters that it
// removes.
func (e *terminalScreen) Write(b []byte) (int, error) {
	if _, err := io.WriteString(e.term, trustControls(e.app.out, string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// boldText shows strong emphasis in Markdown as bold text.
func (e *terminalScreen) boldText(text string) string { return e.app.colorize(e.app.out, bold, text) }

func (e *terminalScreen) readInput(ctx context.Context) <-chan line {
	var before []string
	return readLines(ctx, func() (line, error) {
		for {
			s, err := e.term.ReadLine()
			if errors.Is(err, term.ErrPasteIndicator) { // a paste with several lines is one message
				before = append(before, s)
				continue
			}
			s = strings.Join(append(before, s), "\n")
			before = nil
			return line{text: s, pastes: e.pastes.pastesIn(s)}, err
		}
	})
}

func (e *terminalScreen) interruptSignals() <-chan struct{} { return e.typed }

// wrappedText prints an answer in complete lines, wrapped between words, so that it never
// overwrites the line being typed.
type wrappedText struct {
	term  io.Writer
	width int
	bold  func(string) string // nil leaves the text unchanged
	rest  string
}

// strong matches **words** within a line.
var strong = lazyregexp.New(`\*\*([^*\s](?:[^*\n]*[^*\s])?)\*\*`)

// writeLines shows complete lines.
func (w *wrappedText) writeLines(text string) {
	if w.bold != nil {
		text = strong.ReplaceAllStringFunc(text, func(s string) string { return w.bold(s[2 : len(s)-2]) })
	}
	_, _ = w.term.Write([]byte(text)) // an error means that the terminal is closed, which also ends the input
}

func (w *wrappedText) addText(text string) {
	w.rest += sanitizePrintable(text)
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
		w.writeLines(out.String())
	}
}

func (w *wrappedText) endText() {
	if strings.TrimSpace(w.rest) != "" {
		w.writeLines(w.rest + "\n")
	}
	w.rest = ""
}

// breakLine splits s at a space if it is longer than width. ok is false if s fits.
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

// ctrlC removes Ctrl-C from the input, because Ctrl-C would end the editor, and clears the line
// instead.
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
