// Package a11y reads the accessibility tree of windows: names, roles and text. It can perform an
// element's action, such as pressing a button, or set its text. It uses AT-SPI2 over D-Bus on
// Linux, and constant scripts for System Events on macOS and UI Automation on Windows. It limits
// elements, depth and time, and reports if a limit was reached.
package a11y

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"hob/platform/host/osrun"
)

// Limits of one read.
const (
	MaxNodes = 400
	maxDepth = 25
	maxKids  = 200
	maxText  = 500 // characters of one element
)

// ErrNone means that the accessibility tree is not available.
var ErrNone = errors.New("no program reports the content of its windows (accessibility is off)")

// ErrGone means that the element no longer exists.
var ErrGone = errors.New("element no longer exists")

// Node is an element of the accessibility tree.
type Node struct {
	Ref    string // location of the element, for Do
	App    string
	PID    int
	Window string // title of the window
	Depth  int
	Role   string
	Name   string
	Text   string
	Does   string // name of the action that Do performs; "" if there is none
	Takes  bool   // Fill can set the element's text
	Secret bool   // a password field, whose text is never read
}

// Options are the options of New. The zero value is useful.
type Options struct {
	Getenv func(string) string
	Wait   time.Duration // timeout, default 8 s, for scripts 20 s (macOS) or 25 s (Windows)
	// Scripts runs the scripts for macOS and Windows; nil creates a runner.
	Scripts osrun.Runner
}

// Reader reads accessibility trees.
type Reader struct{ opt Options }

// New returns a Reader. It does not connect yet.
func New(o Options) *Reader {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Wait <= 0 {
		o.Wait = wait
	}
	if o.Scripts == nil {
		o.Scripts = osrun.NewScripts(osrun.Options{})
	}
	return &Reader{o}
}

// Ready returns an error if the accessibility interface is not available, and errors.ErrUnsupported
// if only a slow read would show that.
func (r *Reader) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.opt.Wait)
	defer cancel()
	return r.checkReady(ctx)
}

// Read lists the elements of the windows whose title or program contains words, or of the
// active window if words is empty. more means that the list is truncated.
func (r *Reader) Read(ctx context.Context, words string) (list []Node, more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.opt.Wait)
	defer cancel()
	return r.readElements(ctx, words)
}

// MaxFill is the maximum length of the text for Fill, in characters.
const MaxFill = 5000

// Fill replaces the text of an element. It fails with ErrGone in the same cases as Do.
func (r *Reader) Fill(ctx context.Context, n Node, text string) error {
	if !utf8.ValidString(text) || utf8.RuneCountInString(text) > MaxFill || strings.ContainsRune(text, 0) {
		return fmt.Errorf("text is too long or not valid UTF-8; use at most %d characters", MaxFill)
	}
	ctx, cancel := context.WithTimeout(ctx, r.opt.Wait)
	defer cancel()
	return r.setText(ctx, n, text)
}

// Do performs the first action of an element. It fails with ErrGone if the element no longer exists
// or has been replaced by another one.
func (r *Reader) Do(ctx context.Context, n Node) error {
	ctx, cancel := context.WithTimeout(ctx, r.opt.Wait)
	defer cancel()
	return r.performAction(ctx, n)
}

func truncateText(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if utf8.RuneCountInString(s) > maxText {
		s = string([]rune(s)[:maxText]) + "…"
	}
	return s
}
