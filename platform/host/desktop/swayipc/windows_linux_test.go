package swayipc

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"hob/platform/host/desktop/session"
)

// startCompositor simulates sway: it answers each kind of message with a text; for "" it closes the
// connection.
func startCompositor(t *testing.T, answers map[uint32]string) session.Env {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serveConn(c, answers)
		}
	}()
	return session.Env{Sway: path}
}

func serveConn(c net.Conn, answers map[uint32]string) {
	defer c.Close()
	for {
		head := make([]byte, len(magic)+8)
		if _, err := io.ReadFull(c, head); err != nil {
			return
		}
		kind := binary.NativeEndian.Uint32(head[len(magic)+4:])
		if _, err := io.CopyN(io.Discard, c, int64(binary.NativeEndian.Uint32(head[len(magic):]))); err != nil {
			return
		}
		text := answers[kind]
		if text == "" {
			return
		}
		size := uint32(len(text)) //nolint:gosec // test answers are short
		if text == "huge" {
			size = 1 << 31
		}
		b := binary.NativeEndian.AppendUint32([]byte(magic), size)
		if _, err := c.Write(append(binary.NativeEndian.AppendUint32(b, kind), text...)); err != nil {
			return
		}
	}
}

const tree = `{"id":1,"type":"root","nodes":[{"id":2,"type":"workspace","nodes":[
	{"id":10,"name":"letter","pid":7,"app_id":"Org.Gnome.gedit","visible":true,"rect":{"x":0,"y":25,"width":800,"height":575}},
	{"id":11,"name":"behind a tab","pid":7,"app_id":"foot","visible":false},
	{"id":12,"name":null,"pid":8,"app_id":null,"visible":true,"window_properties":{"class":"XTerm","instance":"xterm"}}],
	"floating_nodes":[{"id":13,"name":"lower","pid":9,"app_id":"a","visible":true},{"id":14,"name":"upper","pid":9,"app_id":"b","visible":true}]},
	{"id":3,"nodes":[{"id":15,"name":"film","pid":9,"app_id":"mpv","visible":true,"fullscreen_mode":1}]}]}`

func TestWindows(t *testing.T) {
	e := startCompositor(t, map[uint32]string{getTree: tree, getSeats: `[{"focus":10,"capabilities":3}]`, runCommand: `[{"success":true}]`})
	c, err := Dial(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	list, err := c.Windows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range list {
		mark := ""
		if w.Focused {
			mark = "*"
		}
		got = append(got, w.Title+"("+w.App+")"+mark)
	}
	if s, want := strings.Join(got, " "), "film(mpv) upper(b) lower(a) letter(org.gnome.gedit)* (xterm xterm)"; s != want {
		t.Errorf("%s\nwant\n%s", s, want)
	}
	if there, err := c.Keyboard(t.Context()); err != nil || !there {
		t.Error(there, err)
	}
	if err := c.Focus(t.Context(), 10); err != nil {
		t.Error(err)
	}
}

// An invalid or oversized answer is an error, not an empty screen. If something above the
// windows has the keyboard, no window is focused.
func TestWindows_InvalidAnswers(t *testing.T) {
	deep := strings.Repeat(`{"nodes":[`, 500) + `{"id":1,"pid":1,"visible":true}` + strings.Repeat(`]}`, 500)
	many, err := json.Marshal(map[string]any{"nodes": make([]map[string]any, 5000)})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		tree, seats string
		ok          bool
	}{
		"a lock has the keyboard": {tree, `[{"focus":0}]`, true},
		"deep":                    {deep, `[{"focus":1}]`, true},
		"many":                    {strings.ReplaceAll(string(many), "null", `{"id":1,"pid":1,"visible":true}`), `[{"focus":2}]`, true},
		"huge":                    {"huge", `[{"focus":1}]`, false},
		"two seats":               {tree, `[{"focus":10},{"focus":12}]`, false},
		"no seat":                 {tree, `[]`, false},
		"no JSON":                 {"<html>", `[{"focus":1}]`, false},
		"connection closed":       {"", `[{"focus":1}]`, false},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Dial(t.Context(), startCompositor(t, map[uint32]string{getTree: tc.tree, getSeats: tc.seats, runCommand: `[{"success":false,"error":"x"}]`}))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			list, err := c.Windows(t.Context())
			if (err == nil) != tc.ok || len(list) > maxWindows {
				t.Fatalf("%d %v", len(list), err)
			}
			for _, w := range list {
				if w.Focused {
					t.Errorf("%+v has the keyboard", w)
				}
			}
		})
	}
	c, err := Dial(t.Context(), startCompositor(t, map[uint32]string{runCommand: `[{"success":false,"error":"x"}]`}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Focus(t.Context(), 1); err == nil {
		t.Error("Focus returned no error")
	}
	for _, e := range []session.Env{{}, {Sway: "/nowhere"}, {RuntimeDir: t.TempDir()}} {
		if _, err := Dial(t.Context(), e); !errors.Is(err, ErrNone) {
			t.Errorf("%+v: %v", e, err)
		}
	}
}
