// Package clipboard reads and writes the text that the user of this desktop has
// copied. It keeps nothing and decides nothing: what may be read, and shown to
// whom, is for its callers.
//
// It goes through github.com/atotto/clipboard on Windows and macOS, and on X11 for
// texts that one message does not hold, with xclip or xsel. Else it does without: on
// X11 it speaks with the server itself and holds what was written for as long as
// this process lives, on Wayland it runs wl-copy and
// wl-paste with a time of their own, since they hang under some compositors
// (github.com/bugaevc/wl-clipboard, issues 163 and 206). What was copied out of a
// password manager is known by the mark that such programs set.
package clipboard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/atotto/clipboard"

	"hob/platform/osrun"
)

// MaxText bounds a text that is read or written, in bytes.
const MaxText = 1 << 20

// The errors of a Board. What wraps them names the cause and the remedy.
var (
	ErrNone    = errors.New("there is no clipboard")         // no desktop, or none that this process reaches
	ErrBusy    = errors.New("the clipboard does not answer") // later it may
	ErrUnsure  = errors.New("whether it was copied is not known")
	ErrTooLong = errors.New("the text is too long for the clipboard")
)

// Content is what was copied. The zero value is an empty clipboard.
type Content struct {
	Text string
	// Cut: the text is longer.
	Cut bool
	// Hidden: the program that copied it says that it is a secret.
	Hidden bool
	// Formats name what was copied where it is no text: a picture, files.
	Formats []string
}

// Options of New; the zero value is useful.
type Options struct {
	// Getenv is os.Getenv unless a test has its own.
	Getenv func(string) string
	// Scripts runs those of macOS; nil: one of its own.
	Scripts osrun.Runner
	// Wait bounds one reading or writing (default 3 s).
	Wait time.Duration
}

// Board is the clipboard of the session. Its methods may be called concurrently.
type Board struct {
	opt  Options
	desk backend
	turn chan struct{} // held by whoever reads or writes
}

// backend is how a system reads and writes.
type backend interface {
	read(ctx context.Context) (Content, error)
	write(ctx context.Context, text string) error
	// close lets go of what was written, where this process holds it.
	close()
}

// New makes a Board. It looks at nothing yet.
func New(o Options) *Board {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Wait <= 0 {
		o.Wait = 3 * time.Second
	}
	if o.Scripts == nil {
		o.Scripts = osrun.NewScripts(osrun.Options{})
	}
	return &Board{opt: o, desk: newBackend(o), turn: make(chan struct{}, 1)}
}

// Close lets go of a text that this process holds for others.
func (b *Board) Close() { b.desk.close() }

func (b *Board) enter(ctx context.Context) (context.Context, func(), error) {
	ctx, cancel := context.WithTimeout(ctx, b.opt.Wait)
	select {
	case b.turn <- struct{}{}:
		return ctx, func() { cancel(); <-b.turn }, nil
	case <-ctx.Done():
		cancel()
		return nil, nil, fmt.Errorf("%w: another look at it has not ended", ErrBusy)
	}
}

// Read returns what is copied.
func (b *Board) Read(ctx context.Context) (Content, error) {
	ctx, leave, err := b.enter(ctx)
	if err != nil {
		return Content{}, err
	}
	defer leave()
	c, err := b.desk.read(ctx)
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

// Write copies a text. It looks whether that has come to pass: where it has not,
// the error says so.
func (b *Board) Write(ctx context.Context, text string) error {
	switch {
	case len(text) > MaxText:
		return fmt.Errorf("%w: it has %d bytes, and %d are taken", ErrTooLong, len(text), MaxText)
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return errors.New("copy a text: it holds bytes that are no text")
	}
	ctx, leave, err := b.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := b.desk.write(ctx, text); err != nil {
		return fmt.Errorf("write the clipboard: %w", err)
	}
	c, err := b.desk.read(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("write the clipboard: %w: %w", ErrUnsure, err)
	case plain(c.Text) != plain(text):
		return fmt.Errorf("write the clipboard: %w: another program has copied something", ErrUnsure)
	}
	return nil
}

// plain is a text as all systems give it back.
func plain(s string) string { return strings.TrimRight(strings.ReplaceAll(s, "\r\n", "\n"), "\n") }

// borrowed calls the library, which knows no time: a program of its that hangs is
// left behind, and ErrBusy says so.
func borrowed[T any](ctx context.Context, call func() (T, error)) (T, error) {
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

// libraryWrite goes through github.com/atotto/clipboard.
func libraryWrite(ctx context.Context, text string) error {
	_, err := borrowed(ctx, func() (struct{}, error) { return struct{}{}, clipboard.WriteAll(text) })
	return err
}
