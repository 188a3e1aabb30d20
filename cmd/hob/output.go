package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"hob/channels/web/apiclient"
	"hob/platform/text/visible"
)

// output is standard output or standard error. It remembers a failed write, so that a list
// truncated by a full disk does not look complete.
//
// On a terminal it writes only visible text, because stored text may contain control sequences from
// unknown senders. Hob marks its own sequences with a random frame; see controlSequence. A pipe
// gets the text unchanged, except for completions, which the shell shows.
//
// It does not embed the file, because io.Copy would then call the file's own ReadFrom.
type output struct {
	file *os.File

	filtered bool
	json     func() bool // reports whether hidden characters are written as \uXXXX
	frame    string

	mu    sync.Mutex
	parts []byte // bytes of a character that is split between two writes
	err   error
}

func newOutput(f *os.File, args []string, json func() bool) *output {
	_, tty := terminalFD(f)
	completing := len(args) > 0 && strings.HasPrefix(args[0], "__complete")
	return &output{file: f, filtered: tty || completing, json: json, frame: "\x1b\x00" + rand.Text() + "\x00"}
}

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.filtered {
		n, err := o.file.Write(b)
		return n, o.recordError(err)
	}
	text := append(o.parts, b...)
	n := visible.Whole(text)
	o.parts = append([]byte(nil), text[n:]...)
	if _, err := o.file.WriteString(o.sanitizeText(string(text[:n]))); err != nil {
		return 0, o.recordError(err)
	}
	return len(b), nil
}

// Fd returns the file descriptor, for terminal detection and size.
func (o *output) Fd() uintptr { return o.file.Fd() }

// WriteString implements io.StringWriter.
func (o *output) WriteString(s string) (int, error) { return o.Write([]byte(s)) }

// sanitizeText returns s without any sequence that a terminal would execute.
func (o *output) sanitizeText(s string) string {
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

// recordError stores the first error. The caller holds o.mu.
func (o *output) recordError(err error) error {
	if o.err == nil {
		o.err = err
	}
	return err
}

func (o *output) firstError() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// clearLine moves the cursor to the beginning of the line and clears the line (EL, ECMA-48 8.3.41).
const clearLine = "\r\x1b[K"

// controlSequence returns a control sequence of Hob for w.
func controlSequence(w io.Writer, sequence string) string {
	if o, ok := w.(*output); ok && o.filtered {
		return o.frame + sequence + o.frame
	}
	return sequence
}

// rawWriter returns the underlying writer for code that draws on the terminal itself, such as a
// form or a line editor. The caller must sanitize untrusted text.
func rawWriter(w io.Writer) io.Writer {
	if o, ok := w.(*output); ok {
		return o.file
	}
	return w
}

// progressLine formats the progress of a tool, for example "read page: 45 s, 30 %, page 3".
func progressLine(tool string, p apiclient.Progress) string {
	s := fmt.Sprintf("%s: %d s", strings.ReplaceAll(sanitizePrintable(tool), "_", " "), p.Seconds)
	if p.Percent != nil {
		s += fmt.Sprintf(", %d %%", *p.Percent)
	}
	if p.Note != "" {
		s += ", " + oneLine(sanitizePrintable(p.Note))
	}
	return s
}

// watchProgress shows which tool in the session has been running for some time. It does so only on
// a terminal. The caller calls stop, which clears the line.
func (a *cli) watchProgress(ctx context.Context, c *client, session string) (stop func()) {
	if _, tty := terminalFD(a.err); !tty || a.asJSON {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		shown := false
		for e, err := range c.Follow(ctx, "") {
			if err != nil {
				break
			}
			if e.Type == "tool_progress" && e.Session == session {
				shown = true
				fmt.Fprint(a.err, controlSequence(a.err, clearLine)+a.colorize(a.err, dim, "… "+progressLine(e.Tool, e.Progress)))
			}
		}
		if shown {
			fmt.Fprint(a.err, controlSequence(a.err, clearLine))
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}
