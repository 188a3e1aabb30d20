package desktop

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The requests of the X protocol (version 11, chapters 8 and 9) and of its extension
// MIT-SCREEN-SAVER (version 1.1) that tell how long nothing was touched.
const (
	xQueryExtension  = 98
	xScreenSaver     = "MIT-SCREEN-SAVER"
	xScreenSaverInfo = 1
	maxXSetup        = 1 << 20
)

// screenIdle asks the X server of this machine. Under Wayland there may be one,
// too, which knows of little: whoever runs there has been asked before.
func screenIdle(ctx context.Context, getenv func(string) string) (time.Duration, error) {
	number, err := xDisplay(getenv("DISPLAY"))
	if err != nil {
		return 0, err
	}
	if getenv("WAYLAND_DISPLAY") != "" {
		return 0, errors.New("the X server under Wayland does not see what is touched")
	}
	path := "/tmp/.X11-unix/X" + number
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		conn, err = d.DialContext(ctx, "unix", "@"+path)
	}
	if err != nil {
		return 0, fmt.Errorf("the display: %w", err)
	}
	defer conn.Close() //nolint:errcheck // nothing was to be kept
	if end, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(end); err != nil {
			return 0, err
		}
	}
	idle, err := xIdle(conn, xCookie(getenv, number))
	if err != nil {
		return 0, fmt.Errorf("the display: %w", err)
	}
	return idle, nil
}

// xDisplay is the number of a display of this machine: that of another one, as
// over ssh, says nothing of who sits here.
func xDisplay(name string) (string, error) {
	host, rest, ok := strings.Cut(name, ":")
	number, _, _ := strings.Cut(rest, ".")
	if !ok || host != "" && host != "unix" || number == "" || len(number) > 5 || strings.Trim(number, "0123456789") != "" {
		return "", fmt.Errorf("DISPLAY is %q, which is no display of this machine", name)
	}
	return number, nil
}

// xCookie finds the secret of a display in the file of xauth(1); nil when there is none.
func xCookie(getenv func(string) string, number string) []byte {
	file := getenv("XAUTHORITY")
	if file == "" {
		file = filepath.Join(getenv("HOME"), ".Xauthority")
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	next := func() []byte {
		if len(b) < 2 {
			b = nil
			return nil
		}
		n := int(binary.BigEndian.Uint16(b))
		if len(b) < 2+n {
			b = nil
			return nil
		}
		out := b[2 : 2+n]
		b = b[2+n:]
		return out
	}
	for len(b) > 2 {
		b = b[2:] // the family of the address
		_, display, name, data := next(), next(), next(), next()
		if string(name) == "MIT-MAGIC-COOKIE-1" && (string(display) == number || len(display) == 0) {
			return data
		}
	}
	return nil
}

// xIdle speaks with an X server.
func xIdle(conn io.ReadWriter, cookie []byte) (time.Duration, error) {
	order := binary.LittleEndian
	name := []byte{}
	if len(cookie) > 0 {
		name = []byte("MIT-MAGIC-COOKIE-1")
	}
	hello := []byte{'l', 0, 11, 0, 0, 0}
	hello = order.AppendUint16(hello, uint16(len(name)))   //nolint:gosec // 18 at most
	hello = order.AppendUint16(hello, uint16(len(cookie))) //nolint:gosec // of two bytes in its file
	hello = append(hello, 0, 0)
	hello = append(append(hello, pad4(name)...), pad4(cookie)...)
	if _, err := conn.Write(hello); err != nil {
		return 0, err
	}
	head := make([]byte, 8)
	if _, err := io.ReadFull(conn, head); err != nil {
		return 0, err
	}
	size := int(order.Uint16(head[6:])) * 4
	if size > maxXSetup {
		return 0, errors.New("its greeting is too long")
	}
	setup := make([]byte, size)
	if _, err := io.ReadFull(conn, setup); err != nil {
		return 0, err
	}
	if head[0] != 1 {
		return 0, errors.New("it lets us not in")
	}
	root, err := xRoot(setup)
	if err != nil {
		return 0, err
	}
	ask := []byte{xQueryExtension, 0}
	ask = order.AppendUint16(ask, uint16(2+len(pad4([]byte(xScreenSaver)))/4))
	ask = order.AppendUint16(ask, uint16(len(xScreenSaver)))
	ask = append(append(ask, 0, 0), pad4([]byte(xScreenSaver))...)
	reply, err := xCall(conn, ask)
	if err != nil || reply[8] != 1 {
		return 0, errors.Join(errors.New("it has no MIT-SCREEN-SAVER"), err)
	}
	ask = append([]byte{reply[9], xScreenSaverInfo, 2, 0}, order.AppendUint32(nil, root)...)
	if reply, err = xCall(conn, ask); err != nil {
		return 0, err
	}
	return time.Duration(order.Uint32(reply[16:])) * time.Millisecond, nil
}

// xRoot finds the first screen's root window in the greeting.
func xRoot(setup []byte) (uint32, error) {
	order := binary.LittleEndian
	if len(setup) < 32 {
		return 0, errors.New("its greeting is too short")
	}
	vendor, formats := int(order.Uint16(setup[16:])), int(setup[21])
	at := 32 + (vendor+3)/4*4 + 8*formats
	if len(setup) < at+4 {
		return 0, errors.New("its greeting is too short")
	}
	return order.Uint32(setup[at:]), nil
}

// xCall sends one request and returns the 32 bytes of its reply.
func xCall(conn io.ReadWriter, request []byte) ([]byte, error) {
	if _, err := conn.Write(request); err != nil {
		return nil, err
	}
	reply := make([]byte, 32)
	for range 16 { // events, which we asked for none of, may stand before it
		if _, err := io.ReadFull(conn, reply); err != nil {
			return nil, err
		}
		switch reply[0] {
		case 0:
			return nil, fmt.Errorf("it answers with the error %d", reply[1])
		case 1:
			return reply, nil
		}
	}
	return nil, errors.New("it does not answer")
}

func pad4(b []byte) []byte {
	return append(append([]byte{}, b...), make([]byte, (4-len(b)%4)%4)...)
}
