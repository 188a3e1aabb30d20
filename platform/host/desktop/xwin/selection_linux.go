package xwin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"

	"hob/platform/retry"
)

// MaxText is the maximum length of text read from the clipboard, in bytes.
const MaxText = 4 << 20

// clipboardName is the selection for copied content (ICCCM 2.6.1, freedesktop clipboard
// specification).
const clipboardName = "CLIPBOARD"

// ErrSilent means that the program that owns the clipboard does not respond.
var ErrSilent = errors.New("program that owns the clipboard does not respond")

// Clipboard requests the content of the clipboard from the program that owns it.
type Clipboard struct {
	c *Conn
	w xproto.Window
}

// Clipboard creates a window that receives the clipboard content.
func (c *Conn) Clipboard() (*Clipboard, error) {
	w, err := c.createHiddenWindow(xproto.EventMaskPropertyChange)
	return &Clipboard{c, w}, err
}

// createHiddenWindow creates a window that is never shown.
func (c *Conn) createHiddenWindow(events uint32) (xproto.Window, error) {
	w, err := xproto.NewWindowId(c.X)
	if err != nil {
		return 0, err
	}
	s := c.Info.DefaultScreen(c.X)
	err = xproto.CreateWindowChecked(c.X, s.RootDepth, w, c.Root, -10, -10, 1, 1, 0, xproto.WindowClassInputOutput, s.RootVisual,
		xproto.CwEventMask, []uint32{events}).Check()
	return w, err
}

// Owned reports whether a program owns the clipboard.
func (b *Clipboard) Owned() (bool, error) {
	a, err := b.c.Atom(clipboardName)
	if err != nil {
		return false, err
	}
	r, err := xproto.GetSelectionOwner(b.c.X, a).Reply()
	if err != nil {
		return false, err
	}
	return r.Owner != xproto.WindowNone, nil
}

// Formats lists the formats that the owner of the clipboard offers.
func (b *Clipboard) Formats(ctx context.Context) ([]string, error) {
	raw, err := b.Get(ctx, "TARGETS")
	if err != nil {
		return nil, err
	}
	var out []string
	for ; len(raw) >= 4 && len(out) < 100; raw = raw[4:] {
		if n := b.c.atomName(xproto.Atom(xgb.Get32(raw))); n != "" {
			out = append(out, n)
		}
	}
	return out, nil
}

// Get requests the content in one format. It returns nil if nothing is copied or the owner does not
// offer that format. Long content is received in pieces (ICCCM 2.7.2, INCR).
func (b *Clipboard) Get(ctx context.Context, target string) ([]byte, error) {
	sel, err := b.c.Atom(clipboardName)
	if err != nil {
		return nil, err
	}
	form, err := b.c.Atom(target)
	if err != nil {
		return nil, err
	}
	into, err := b.c.Atom("HOB_CLIPBOARD")
	if err != nil {
		return nil, err
	}
	incr, err := b.c.Atom("INCR")
	if err != nil {
		return nil, err
	}
	if err := xproto.ConvertSelectionChecked(b.c.X, b.w, sel, form, into, xproto.TimeCurrentTime).Check(); err != nil {
		return nil, err
	}
	done, err := b.c.awaitEvent(ctx, func(e xgb.Event) bool {
		n, ok := e.(xproto.SelectionNotifyEvent)
		return ok && n.Requestor == b.w && n.Selection == sel && n.Target == form
	})
	if err != nil {
		return nil, err
	}
	if done.(xproto.SelectionNotifyEvent).Property == xproto.AtomNone {
		return nil, nil
	}
	r, err := b.takeProperty(into)
	if err != nil || r.Type != incr {
		return r.propertyValue(), err
	}
	var out []byte
	for len(out) < MaxText {
		_, err := b.c.awaitEvent(ctx, func(e xgb.Event) bool {
			n, ok := e.(xproto.PropertyNotifyEvent)
			return ok && n.Window == b.w && n.Atom == into && n.State == xproto.PropertyNewValue
		})
		if err != nil {
			return nil, err
		}
		r, err := b.takeProperty(into)
		if err != nil || len(r.Value) == 0 {
			return out, err
		}
		out = append(out, r.Value...)
	}
	return out, nil
}

type propertyPiece struct{ *xproto.GetPropertyReply }

func (p propertyPiece) propertyValue() []byte {
	if p.GetPropertyReply == nil {
		return nil
	}
	return p.Value
}

func (b *Clipboard) takeProperty(a xproto.Atom) (propertyPiece, error) {
	r, err := xproto.GetProperty(b.c.X, true, b.w, a, xproto.GetPropertyTypeAny, 0, MaxText/4).Reply()
	if err != nil {
		return propertyPiece{&xproto.GetPropertyReply{}}, err
	}
	return propertyPiece{r}, nil
}

// awaitEvent reads events until one matches.
func (c *Conn) awaitEvent(ctx context.Context, fits func(xgb.Event) bool) (xgb.Event, error) {
	for {
		e, xerr := c.X.PollForEvent()
		switch {
		case xerr != nil:
			return nil, xerr
		case e != nil && fits(e):
			return e, nil
		case e != nil:
			continue
		}
		if err := retry.Sleep(ctx, 3*time.Millisecond); err != nil {
			return nil, fmt.Errorf("%w (%w)", ErrSilent, err)
		}
	}
}
