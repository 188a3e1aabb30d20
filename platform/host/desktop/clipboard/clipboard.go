// Package clipboard reads and writes the text on the user's clipboard. It stores nothing and
// applies no policy: callers decide what may be read and shown.
//
// It uses github.com/atotto/clipboard on Windows and macOS. On X11 it uses that library, with xclip
// or xsel, only for text that is too long for one message. Otherwise it communicates with the X
// server directly and offers the written text while this process is running. On Wayland it runs
// wl-copy and wl-paste with a timeout, because they hang under some compositors
// (github.com/bugaevc/wl-clipboard, issues 163 and 206). It recognizes text copied from a password
// manager by the mark that such programs set.
package clipboard

import (
	"context"
	_ "embed" // embeds the script
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/atotto/clipboard"

	"hob/platform/host/osrun"
	"hob/platform/retry"
)

// MaxText is the maximum length of the text, in bytes.
const MaxText = 1 << 20

// Errors of a Clipboard. Wrapping errors name the cause and the remedy.
var (
	ErrNone    = errors.New("no clipboard available")     // there is no desktop, or this process cannot access it
	ErrBusy    = errors.New("clipboard does not respond") // a retry may succeed
	ErrUnsure  = errors.New("unknown whether the text was copied")
	ErrTooLong = errors.New("text is too long for the clipboard")
)

// Content is the content of the clipboard. The zero value is an empty clipboard.
type Content struct {
	Text string
	// Cut is true if Text is truncated.
	Cut bool
	// Hidden is true if the source program marked the content as secret.
	Hidden bool
	// Formats lists the formats of content that is not text, such as a picture or files.
	Formats []string
}

// Options are the options of New. The zero value is useful.
type Options struct {
	// Getenv is os.Getenv unless a test replaces it.
	Getenv func(string) string
	// Scripts runs the scripts for macOS; nil creates a runner.
	Scripts osrun.Runner
	// Wait is the timeout of one read or write (default 3 s).
	Wait time.Duration
}

// Clipboard is the clipboard of the session. Its methods may be called concurrently.
type Clipboard struct {
	opt  Options
	desk backend
	turn chan struct{} // semaphore of size 1 for reads and writes
}

// backend accesses the clipboard on one operating system.
type backend interface {
	readClipboard(ctx context.Context) (Content, error)
	writeText(ctx context.Context, text string) error
	// close stops offering the written text to other programs.
	close()
}

// New returns a Clipboard. It does not connect yet.
func New(o Options) *Clipboard {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Wait <= 0 {
		o.Wait = 3 * time.Second
	}
	if o.Scripts == nil {
		o.Scripts = osrun.NewScripts(osrun.Options{})
	}
	return &Clipboard{opt: o, desk: newBackend(o), turn: make(chan struct{}, 1)}
}

// Close stops offering the written text to other programs.
func (b *Clipboard) Close() { b.desk.close() }

func (b *Clipboard) acquireTurn(ctx context.Context) (context.Context, func(), error) {
	ctx, cancel := context.WithTimeout(ctx, b.opt.Wait)
	select {
	case b.turn <- struct{}{}:
		return ctx, func() { cancel(); <-b.turn }, nil
	case <-ctx.Done():
		cancel()
		return nil, nil, fmt.Errorf("%w: another clipboard access is still running", ErrBusy)
	}
}

// Read returns the copied content.
func (b *Clipboard) Read(ctx context.Context) (Content, error) {
	ctx, leave, err := b.acquireTurn(ctx)
	if err != nil {
		return Content{}, err
	}
	defer leave()
	c, err := b.desk.readClipboard(ctx)
	if err != nil {
		return Content{}, fmt.Errorf("read the clipboard: %w", err)
	}
	c.Text = strings.TrimRight(strings.ToValidUTF8(c.Text, "\uFFFD"), "\x00")
	if len(c.Text) > MaxText {
		end := MaxText
		for !utf8.RuneStart(c.Text[end]) {
			end--
		}
		c.Text, c.Cut = c.Text[:end], true
	}
	return c, nil
}

// Write writes text to the clipboard and reads it back. It returns an error if the clipboard then
// contains something else.
func (b *Clipboard) Write(ctx context.Context, text string) error {
	switch {
	case len(text) > MaxText:
		return fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLong, len(text), MaxText)
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return errors.New("write to the clipboard: text is not valid UTF-8 or contains a NUL character")
	}
	ctx, leave, err := b.acquireTurn(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := b.desk.writeText(ctx, text); err != nil {
		return fmt.Errorf("write to the clipboard: %w", err)
	}
	return b.confirmWrite(ctx, text)
}

// confirmShare is the part of Options.Wait within which written text must appear, because xclip and xsel
// exit before the X server has processed their request.
const confirmShare = 3

// confirmWrite reads the clipboard until it contains text.
func (b *Clipboard) confirmWrite(ctx context.Context, text string) error {
	for end := time.Now().Add(b.opt.Wait / confirmShare); ; {
		c, err := b.desk.readClipboard(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("write to the clipboard: %w: %w", ErrUnsure, err)
		case normalizeText(c.Text) == normalizeText(text):
			return nil
		case time.Now().After(end) || retry.Sleep(ctx, 5*time.Millisecond) != nil:
			return fmt.Errorf("write to the clipboard: %w: another program has replaced the content", ErrUnsure)
		}
	}
}

// normalizeText converts line ends to "\n" and removes them at the end, because both differ between
// systems.
func normalizeText(s string) string {
	return strings.TrimRight(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
}

// callLibrary calls the library, which has no timeouts. If a program that the library started
// hangs, callLibrary abandons the call and returns ErrBusy.
func callLibrary[T any](ctx context.Context, call func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		v, err := call()
		done <- answer{v, err}
	}()
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf("%w (%w)", ErrBusy, ctx.Err())
	}
}

// libraryWrite writes with github.com/atotto/clipboard.
func libraryWrite(ctx context.Context, text string) error {
	_, err := callLibrary(ctx, func() (struct{}, error) { return struct{}{}, clipboard.WriteAll(text) })
	return err
}

//go:embed paste.js
var pasteText string

// pasteScript returns the script that reads the pasteboard of macOS.
func pasteScript() osrun.Script { return osrun.NewScript("desktop/clipboard/paste.js", pasteText) }

// pasteAnswer is the answer of the script.
type pasteAnswer struct {
	Text   *string  `json:"text"`
	Types  []string `json:"types"`
	Hidden bool     `json:"hidden"`
}

// readPasteboard reads the pasteboard with pasteScript.
func readPasteboard(ctx context.Context, r osrun.Runner, o Options) (Content, error) {
	var a pasteAnswer
	if err := r.Run(ctx, osrun.Call{Script: pasteScript(), In: struct{}{}, Wait: o.Wait}, &a); err != nil {
		if e, ok := errors.AsType[*osrun.Error](err); ok && e.Kind == osrun.Timeout {
			return Content{}, fmt.Errorf("%w: %w", ErrBusy, err)
		}
		return Content{}, err
	}
	if a.Text == nil {
		return Content{Hidden: a.Hidden, Formats: a.Types[:min(8, len(a.Types))]}, nil
	}
	return Content{Text: *a.Text, Hidden: a.Hidden}, nil
}

// markBusy wraps err with ErrBusy if ctx has ended, because the program was then killed before it
// answered.
func markBusy(ctx context.Context, err error) error { //nolint:unused // used on macOS
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return err
}
