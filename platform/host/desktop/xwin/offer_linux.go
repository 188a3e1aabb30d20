package xwin

import (
	"context"
	"errors"
	"slices"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// MaxOffer is the maximum length of the offered text, in bytes. The text is sent in one piece, and
// every X server accepts a piece of this size.
const MaxOffer = 200_000

// Offer offers text on the clipboard until ctx ends, another program copies something, or the
// display closes. It returns once the text can be pasted. ended is closed when the text can no
// longer be pasted. Offer closes the connection.
func (c *Conn) Offer(ctx context.Context, text string) (ended <-chan struct{}, err error) {
	if len(text) > MaxOffer {
		return nil, errors.New("text is too long to offer to other programs; install xclip")
	}
	w, err := c.createHiddenWindow(0)
	if err != nil {
		return nil, err
	}
	o := clipboardOffer{c: c, text: []byte(text)}
	if err := o.internAtoms(); err != nil {
		return nil, err
	}
	if err := xproto.SetSelectionOwnerChecked(c.X, w, o.sel, xproto.TimeCurrentTime).Check(); err != nil {
		return nil, err
	}
	r, err := xproto.GetSelectionOwner(c.X, o.sel).Reply()
	if err != nil || r.Owner != w {
		return nil, errors.Join(errors.New("another program owns the clipboard"), err)
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, c.Close)
	go func() {
		defer close(done)
		defer stop()
		defer c.Close()
		o.serveRequests()
	}()
	return done, nil
}

type clipboardOffer struct {
	c                  *Conn
	text               []byte
	sel, targets, utf8 xproto.Atom
	forms              []xproto.Atom // formats of the text
}

func (o *clipboardOffer) internAtoms() (err error) {
	get := func(name string) xproto.Atom {
		a, e := o.c.Atom(name)
		err = errors.Join(err, e)
		return a
	}
	o.sel, o.targets, o.utf8 = get(clipboardName), get("TARGETS"), get("UTF8_STRING")
	o.forms = []xproto.Atom{o.utf8, get("text/plain;charset=utf-8"), get("text/plain"), get("STRING"), get("TEXT")}
	return err
}

func (o *clipboardOffer) serveRequests() {
	for {
		e, xerr := o.c.X.WaitForEvent()
		switch e := e.(type) {
		case xproto.SelectionClearEvent:
			return
		case xproto.SelectionRequestEvent:
			o.answerRequest(e)
		case nil:
			if xerr == nil {
				return // the connection is closed
			}
		}
	}
}

func (o *clipboardOffer) answerRequest(e xproto.SelectionRequestEvent) {
	n := xproto.SelectionNotifyEvent{Time: e.Time, Requestor: e.Requestor, Selection: e.Selection, Target: e.Target, Property: e.Property}
	if n.Property == xproto.AtomNone {
		n.Property = e.Target // an obsolete client (ICCCM 2.2)
	}
	switch {
	case e.Target == o.targets:
		all := append([]xproto.Atom{o.targets}, o.forms...)
		b := make([]byte, 4*len(all))
		for i, a := range all {
			xgb.Put32(b[4*i:], uint32(a))
		}
		xproto.ChangeProperty(o.c.X, xproto.PropModeReplace, e.Requestor, n.Property, xproto.AtomAtom, 32, uint32(len(all)), b)
	case slices.Contains(o.forms, e.Target):
		form := e.Target
		if form == o.forms[len(o.forms)-1] {
			form = o.utf8
		}
		xproto.ChangeProperty(o.c.X, xproto.PropModeReplace, e.Requestor, n.Property, form, 8, uint32(len(o.text)), o.text) //nolint:gosec // at most MaxOffer
	default:
		n.Property = xproto.AtomNone
	}
	xproto.SendEvent(o.c.X, false, e.Requestor, 0, string(n.Bytes()))
}
