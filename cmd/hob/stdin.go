package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"hob/channels"
	"hob/channels/web"
)

// pipeWait is the maximum wait for the first byte on standard input if the message is given as an
// argument. A program that started hob may leave an empty pipe open forever.
const pipeWait = 3 * time.Second

// userInput is the input that a command sends to Hob.
type userInput struct {
	typed string // arguments, or a line from a terminal
	piped string // standard input if it is not a terminal
	mine  bool   // --mine: the user declares piped as their own text
}

// isUntrusted reports whether the input contains text that is not the user's own.
func (u userInput) isUntrusted() bool { return u.piped != "" && !u.mine }

// messageBody returns the message for the input. It marks text from a pipe, so that such text never
// counts as the user's words.
func (u userInput) messageBody() web.Message {
	if !u.isUntrusted() {
		return web.Message{Text: strings.TrimSpace(u.typed + "\n" + u.piped)}
	}
	parts := []channels.TextPart{{Text: u.piped, Origin: channels.Piped}}
	if u.typed != "" {
		parts = append([]channels.TextPart{{Text: u.typed, Origin: channels.Typed}}, parts...)
	}
	return web.Message{Parts: parts}
}

// readInput combines arguments and standard input. If there are no arguments or the last one is
// "-", it waits for standard input.
func (a *cli) readInput(ctx context.Context, args []string, mine bool) (userInput, error) {
	wait := len(args) == 0
	if n := len(args); n > 0 && args[n-1] == "-" {
		args, wait = args[:n-1], true
	}
	in := userInput{typed: joinWords(args), mine: mine}
	if _, tty := terminalFD(a.in); !tty {
		var err error
		if in.piped, err = a.readPipe(ctx, wait || in.typed == ""); err != nil {
			return in, err
		}
	}
	if in.typed == "" && in.piped == "" {
		return in, usageErrorf(`write a message: hob ask "what is on today?"`)
	}
	return in, nil
}

// readPipe reads standard input to its end. If wait is false, it waits for the first byte for at
// most pipeWait.
func (a *cli) readPipe(ctx context.Context, wait bool) (string, error) {
	type result struct {
		text []byte
		err  error
	}
	first := &firstRead{in: a.in, begun: make(chan struct{})}
	read := make(chan result, 1)
	go func() { // if no input arrives, this goroutine ends with the process
		b, err := io.ReadAll(io.LimitReader(first, web.MaxText+1))
		read <- result{b, err}
	}()
	if !wait {
		limit := time.NewTimer(pipeWait)
		defer limit.Stop()
		select {
		case <-first.begun:
		case <-ctx.Done():
			return "", ctx.Err()
		case <-limit.C:
			fmt.Fprintln(a.err, `No data on standard input; continuing without it. To wait for it, use "-" as the last argument; to close it, use </dev/null.`)
			return "", nil
		}
	}
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case r := <-read:
		if !wait && len(r.text) == 0 && (errors.Is(r.err, fs.ErrInvalid) || errors.Is(r.err, fs.ErrClosed)) {
			return "", nil // there is no standard input
		}
		return checkPipe(r.text, r.err)
	}
}

func checkPipe(b []byte, err error) (string, error) {
	switch {
	case err != nil:
		return "", fmt.Errorf("read standard input: %w", err)
	case len(b) > web.MaxText:
		return "", &failure{code: exitUsage, cause: "standard input is longer than " + bytesText(web.MaxText), remedy: "save it to a file and name the file"}
	case !utf8.Valid(b):
		return "", &failure{code: exitUsage, cause: "standard input is not valid UTF-8", remedy: "send UTF-8 text"}
	}
	return strings.TrimSpace(string(b)), nil
}

// firstRead reports when the first read from in has returned.
type firstRead struct {
	in    io.Reader
	once  sync.Once
	begun chan struct{}
}

// Read implements io.Reader.
func (f *firstRead) Read(b []byte) (int, error) {
	n, err := f.in.Read(b)
	f.once.Do(func() { close(f.begun) })
	return n, err
}
