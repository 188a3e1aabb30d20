package web

import (
	"context"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"
)

// TestLoginLink_ForThisMachine checks that a link for a browser on this machine cannot be used, or used
// up, from another machine.
func TestLoginLink_ForThisMachine(t *testing.T) {
	for name, tc := range map[string]struct {
		from, to string
		here     bool
	}{
		"loopback":                {"127.0.0.1:4", "127.0.0.1:7717", true},
		"loopback, six":           {"[::1]:4", "[::1]:7717", true},
		"its own address":         {"192.0.2.7:4", "192.0.2.7:7717", true},
		"its own, mapped":         {"[::ffff:192.0.2.7]:4", "192.0.2.7:7717", true},
		"another machine":         {"192.0.2.9:4", "192.0.2.7:7717", false},
		"nobody knows from where": {"", "192.0.2.7:7717", false},
		"nobody knows to where":   {"192.0.2.7:4", "", false},
	} {
		ctx := t.Context()
		if to, err := net.ResolveTCPAddr("tcp", tc.to); err == nil && tc.to != "" {
			ctx = context.WithValue(ctx, http.LocalAddrContextKey, net.Addr(to))
		}
		r := (&http.Request{RemoteAddr: tc.from}).WithContext(ctx)
		if got := sameMachine(r); got != tc.here {
			t.Errorf("%s: sameMachine = %v", name, got)
		}
	}
	d := loginGuard{codes: map[[32]byte]loginCode{}}
	code, _, _ := d.newCode(time.Now(), true)
	for _, step := range []struct{ here, want bool }{{false, false}, {true, true}, {true, false}} {
		if got := d.useCode(code, time.Now(), step.here); got != step.want {
			t.Errorf("useCode on this machine %v: %v", step.here, got)
		}
	}
	if code, _, _ := d.newCode(time.Now(), false); !d.useCode(code, time.Now(), false) {
		t.Error("a printed link works only on this machine")
	}
}

func TestIsAddressTaken(t *testing.T) {
	for code, want := range map[syscall.Errno]bool{syscall.EADDRINUSE: true, 10048: true, 10013: true, syscall.EACCES: false} {
		if got := isAddressTaken(&net.OpError{Op: "listen", Err: os.NewSyscallError("bind", code)}); got != want {
			t.Errorf("isAddressTaken(%d) = %v, want %v", int(code), got, want)
		}
	}
}
