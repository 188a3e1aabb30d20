// Package tree reads what windows show as their programs tell it to screen readers:
// names, roles and texts, and it does what an element offers, such as pressing a
// button, or puts a text into one that takes it. On Linux that is AT-SPI2 over D-Bus,
// on macOS System Events, on Windows UI Automation, both by constant scripts. It is
// bounded in elements, depth and time, and says when there was more.
package tree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"hob/platform/osrun"
)

// Bounds of one reading.
const (
	MaxNodes = 400
	maxDepth = 25
	maxKids  = 200
	maxText  = 500 // characters of one element
)

// ErrNone says that nothing tells what windows show.
var ErrNone = errors.New("no program tells what its windows show (accessibility is off)")

// ErrGone says that the element is not there any more.
var ErrGone = errors.New("the element is not there any more")

// Node is an element.
type Node struct {
	Ref    string // where it is, for Do
	App    string
	PID    int
	Window string // the title
	Depth  int
	Role   string
	Name   string
	Text   string
	Does   string // the name of what Do does, "" for nothing
	Takes  bool   // Fill puts a text there
	Secret bool   // a password field: its text is never read
}

// Options of New; the zero value is useful.
type Options struct {
	Getenv func(string) string
	Wait   time.Duration // default 8 s, 20 s where scripts are run
	// Scripts runs those of macOS and Windows; nil: one of its own.
	Scripts osrun.Runner
}

// Reader reads trees.
type Reader struct{ opt Options }

// New makes a Reader. It looks at nothing yet.
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

// Ready looks whether there is anybody who can be asked what windows show.
func (r *Reader) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.opt.Wait)
	defer cancel()
	return r.ready(ctx)
}

// Read lists the elements of the windows whose title or program has the words in
// it, of the active one when there are none. more: there were more.
func (r *Reader) Read(ctx context.Context, words string) (list []Node, more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.opt.Wait)
	defer cancel()
	return r.read(ctx, words)
}

// MaxFill bounds a text that is put into an element, in characters.
const MaxFill = 5000

// Fill puts a text into an element, in place of what stands there. It fails with
// ErrGone as Do does.
func (r *Reader) Fill(ctx context.Context, n Node, text string) error {
	if !utf8.ValidString(text) || utf8.RuneCountInString(text) > MaxFill || strings.ContainsRune(text, 0) {
		return fmt.Errorf("that cannot be filled in: at most %d characters", MaxFill)
	}
	ctx, cancel := context.WithTimeout(ctx, r.opt.Wait)
	defer cancel()
	return r.fill(ctx, n, text)
}

// Do does what an element offers first. It fails with ErrGone when that is not the
// element that was seen any more.
func (r *Reader) Do(ctx context.Context, n Node) error {
	ctx, cancel := context.WithTimeout(ctx, r.opt.Wait)
	defer cancel()
	return r.do(ctx, n)
}

func cut(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if utf8.RuneCountInString(s) > maxText {
		s = string([]rune(s)[:maxText]) + "…"
	}
	return s
}
