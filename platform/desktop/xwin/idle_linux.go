package xwin

import (
	"errors"
	"time"

	"github.com/jezek/xgb/screensaver"
	"github.com/jezek/xgb/xproto"
)

const saver = "MIT-SCREEN-SAVER"

// Idle is how long nothing was touched (MIT-SCREEN-SAVER 1.1). The extension is found
// here, for this connection: xgb's own Init writes into maps that all connections read.
func (c *Conn) Idle() (time.Duration, error) {
	e, err := xproto.QueryExtension(c.X, uint16(len(saver)), saver).Reply()
	if err != nil {
		return 0, err
	}
	if !e.Present {
		return 0, errors.New("the display has no " + saver)
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
