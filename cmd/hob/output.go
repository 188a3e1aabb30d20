package main

import (
	"crypto/rand"
	"io"
	"os"
	"strings"
	"sync"

	"hob/platform/visible"
)

// output is standard output or standard error. It remembers a failed write, so that a
// list which a full disk cut off does not look whole.
//
// On a terminal it passes on visible text alone, whoever printed it: what Hob keeps may
// hold control sequences of a stranger. Hob's own sequences are written between two
// copies of a frame that nobody else knows; see control. In a pipe nothing is changed,
// except for the completions, which the shell shows.
//
// It does not embed the file: io.Copy would call the file's own ReadFrom.
type output struct {
	file *os.File

	filtered bool
	json     func() bool // hidden characters are written as \uXXXX
	frame    string

	mu    sync.Mutex
	parts []byte // of a character that the last write cut in two
	err   error
}

func newOutput(f *os.File, args []string, json func() bool) *output {
	_, tty := terminal(f)
	completing := len(args) > 0 && strings.HasPrefix(args[0], "__complete")
	return &output{file: f, filtered: tty || completing, json: json, frame: "\x1b\x00" + rand.Text() + "\x00"}
}

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.filtered {
		n, err := o.file.Write(b)
		return n, o.note(err)
	}
	text := append(o.parts, b...)
	n := visible.Whole(text)
	o.parts = append([]byte(nil), text[n:]...)
	if _, err := o.file.WriteString(o.shown(string(text[:n]))); err != nil {
		return 0, o.note(err)
	}
	return len(b), nil
}

// Fd is the descriptor of the file, by which a terminal is recognised and measured.
func (o *output) Fd() uintptr { return o.file.Fd() }

// WriteString implements io.StringWriter.
func (o *output) WriteString(s string) (int, error) { return o.Write([]byte(s)) }

// shown is a text as a terminal may get it.
func (o *output) shown(s string) string {
	var b strings.Builder
	for i, part := range strings.Split(s, o.frame) {
		switch {
		case i%2 == 1:
			b.WriteString(part)
		case o.json():
			b.WriteString(visible.JSON(part))
		default:
			b.WriteString(visible.Text(part))
		}
	}
	return b.String()
}

// note keeps the first error. o.mu is held.
func (o *output) note(err error) error {
	if o.err == nil {
		o.err = err
	}
	return err
}

func (o *output) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// clearLine goes to the beginning of the line and empties it (EL, ECMA-48 8.3.41).
const clearLine = "\r\x1b[K"

// control returns a control sequence of Hob's own for a writer.
func control(w io.Writer, sequence string) string {
	if o, ok := w.(*output); ok && o.filtered {
		return o.frame + sequence + o.frame
	}
	return sequence
}

// rendered returns a text with control sequences of Hob's own as a line editor of the
// writer's terminal may get it; everything else in it is made visible.
func rendered(w io.Writer, text string) string {
	if o, ok := w.(*output); ok {
		return o.shown(text)
	}
	return text
}

// drawing returns the writer for programs that draw on the terminal themselves, such as
// a form or a line editor. Whoever uses it makes foreign text visible first.
func drawing(w io.Writer) io.Writer {
	if o, ok := w.(*output); ok {
		return o.file
	}
	return w
}
