package swayipc

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"time"

	"hob/platform/host/desktop/session"
)

// Messages of sway-ipc(7).
const (
	runCommand = 0
	getTree    = 4
	getSeats   = 101
)

const (
	magic     = "i3-ipc"
	maxAnswer = 16 << 20
	answerIn  = 3 * time.Second
)

// ErrNone means that the compositor is not sway or cannot be queried.
var ErrNone = errors.New("this Wayland compositor does not list its windows")

// Conn is a connection to sway.
type Conn struct{ net net.Conn }

// Dial connects to the sway compositor of a session. It gives up when ctx ends. If SWAYSOCK is not
// known, it uses the socket in the user's runtime folder if there is only one.
func Dial(ctx context.Context, e session.Env) (*Conn, error) {
	path := e.Sway
	if path == "" && filepath.IsAbs(e.RuntimeDir) {
		if found, err := filepath.Glob(filepath.Join(e.RuntimeDir, "sway-ipc.*.sock")); err == nil && len(found) == 1 {
			path = found[0]
		}
	}
	if path == "" {
		return nil, ErrNone
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("%w: sway: %w", ErrNone, err)
	}
	return &Conn{c}, nil
}

// Close ends the connection.
func (c *Conn) Close() { _ = c.net.Close() }

// sendMessage sends a message and decodes the answer.
func (c *Conn) sendMessage(ctx context.Context, kind uint32, text string, out any) error {
	end := time.Now().Add(answerIn)
	if d, ok := ctx.Deadline(); ok && d.Before(end) {
		end = d
	}
	if err := c.net.SetDeadline(end); err != nil {
		return err
	}
	b := binary.NativeEndian.AppendUint32([]byte(magic), uint32(len(text))) //nolint:gosec // Hob's commands are short
	b = append(binary.NativeEndian.AppendUint32(b, kind), text...)
	if _, err := c.net.Write(b); err != nil {
		return fmt.Errorf("sway: send the request: %w", err)
	}
	head := make([]byte, len(magic)+8)
	if _, err := io.ReadFull(c.net, head); err != nil {
		return fmt.Errorf("sway: read the answer: %w", err)
	}
	n := binary.NativeEndian.Uint32(head[len(magic):])
	if string(head[:len(magic)]) != magic || binary.NativeEndian.Uint32(head[len(magic)+4:]) != kind || n > maxAnswer {
		return errors.New("sway: unexpected answer type")
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(c.net, body); err != nil {
		return fmt.Errorf("sway: read the answer: %w", err)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("sway: decode the answer: %w", err)
	}
	return nil
}

// Focus brings a window to the front.
func (c *Conn) Focus(ctx context.Context, id uint64) error {
	var done []struct {
		Success bool   `json:"success"`
		Error   string `json:"error"`
	}
	if err := c.sendMessage(ctx, runCommand, fmt.Sprintf("[con_id=%d] focus", id), &done); err != nil {
		return err
	}
	if len(done) != 1 || !done[0].Success {
		return errors.New("sway did not bring the window to the front")
	}
	return nil
}
