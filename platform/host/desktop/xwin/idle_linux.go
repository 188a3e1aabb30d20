package xwin

import (
	"errors"
	"time"

	"github.com/jezek/xgb/screensaver"
	"github.com/jezek/xgb/xproto"
)

const saver = "MIT-SCREEN-SAVER"

// Idle returns the time since the last input (MIT-SCREEN-SAVER 1.1). It looks up the extension
// for this connection, because xgb's Init writes to maps that all connections read.
func (c *Conn) Idle() (time.Duration, error) {
	e, err := xproto.QueryExtension(c.X, uint16(len(saver)), saver).Reply()
	if err != nil {
		return 0, err
	}
	if !e.Present {
		return 0, errors.New("the X display has no " + saver)
	}
	c.X.ExtLock.Lock()
	c.X.Extensions[saver] = e.MajorOpcode
	c.X.ExtLock.Unlock()
	r, err := screensaver.QueryInfo(c.X, xproto.Drawable(c.Root)).Reply()
	if err != nil {
		return 0, err
	}
	return time.Duration(r.MsSinceUserInput) * time.Millisecond, nil
}
