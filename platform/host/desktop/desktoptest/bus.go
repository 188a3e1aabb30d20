//go:build linux

// Package desktoptest provides test doubles of a desktop: a private session bus (dbus-daemon)
// and a notification server on it, which implements the Desktop Notifications Specification
// including misbehavior of real servers. Only tests use it.
package desktoptest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

const config = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:dir=%s</listen><auth>EXTERNAL</auth><servicedir>%s</servicedir>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>`

// Bus is a private message bus.
type Bus struct {
	Address string
	// Services is a folder with files of services that the bus can start.
	Services string
	dir      string
	cmd      *exec.Cmd
}

// NewBus starts a dbus-daemon, or skips the test if it is not installed.
func NewBus(t testing.TB) *Bus {
	t.Helper()
	program, err := exec.LookPath("dbus-daemon")
	if err != nil {
		t.Skip("dbus-daemon is not installed")
	}
	dir, err := os.MkdirTemp("", "bus") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	b := &Bus{Services: filepath.Join(dir, "services"), dir: dir}
	if err := os.Mkdir(b.Services, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "bus.conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, config, dir, b.Services), 0o600); err != nil {
		t.Fatal(err)
	}
	b.cmd = exec.CommandContext(t.Context(), program, "--nofork", "--nopidfile", "--print-address=1", "--config-file="+file)
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Stop)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("dbus-daemon printed no address: %v", err)
	}
	b.Address = strings.TrimSpace(line)
	return b
}

// Stop ends the bus.
func (b *Bus) Stop() {
	_ = b.cmd.Process.Kill()
	_ = b.cmd.Wait()
}

// Getenv returns the environment of a process of this session.
func (b *Bus) Getenv(key string) string {
	if key == "DBUS_SESSION_BUS_ADDRESS" {
		return b.Address
	}
	return ""
}

// Conn connects to the bus.
func (b *Bus) Conn(t testing.TB) *dbus.Conn {
	t.Helper()
	c, err := dbus.Connect(b.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Names from the specification.
const (
	Name = "org.freedesktop.Notifications"
	path = dbus.ObjectPath("/org/freedesktop/Notifications")
)

// Shown is a notification that the server received.
type Shown struct {
	ID, Replaces uint32
	App, Icon    string
	Title, Body  string
	Actions      []string
	Hints        map[string]dbus.Variant
	Timeout      int32
}

// Server is a notification server.
type Server struct {
	conn *dbus.Conn
	caps []string

	mu     sync.Mutex
	next   uint32
	shown  []Shown
	closed []uint32
	fail   []*dbus.Error
	stall  chan struct{}
	faster string
}

// NewServer claims the bus name of a notification server. caps are the server's capabilities.
func NewServer(t testing.TB, b *Bus, caps ...string) *Server {
	t.Helper()
	s := &Server{conn: b.Conn(t), caps: caps, next: 1}
	if err := s.conn.Export(serverMethods{s}, path, Name); err != nil {
		t.Fatal(err)
	}
	reply, err := s.conn.RequestName(Name, dbus.NameFlagReplaceExisting|dbus.NameFlagAllowReplacement)
	if err != nil || reply != dbus.RequestNameReplyPrimaryOwner {
		t.Fatalf("claim the bus name %s: %v %v", Name, reply, err)
	}
	return s
}

// Stop disconnects from the bus.
func (s *Server) Stop() { _ = s.conn.Close() }

// Fail makes the next n notifications fail with a D-Bus error.
func (s *Server) Fail(name string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		s.fail = append(s.fail, dbus.NewError(name, []any{"the server fails"}))
	}
}

// Stall makes notifications hang until release is called.
func (s *Server) Stall() (release func()) {
	c := make(chan struct{})
	s.mu.Lock()
	s.stall = c
	s.mu.Unlock()
	return sync.OnceFunc(func() {
		s.mu.Lock()
		s.stall = nil
		s.mu.Unlock()
		close(c)
	})
}

// Faster makes a press of this key arrive before the answer to Notify.
func (s *Server) Faster(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faster = key
}

// All lists the shown notifications in order.
func (s *Server) All() []Shown {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Shown(nil), s.shown...)
}

// Withdrawn waits until n notifications were withdrawn and returns their ids in order.
func (s *Server) Withdrawn(t testing.TB, n int) []uint32 {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		s.mu.Lock()
		closed := append([]uint32(nil), s.closed...)
		s.mu.Unlock()
		if len(closed) >= n {
			return closed
		}
		if time.Now().After(end) {
			t.Fatalf("%d notifications were withdrawn, want %d", len(closed), n)
		}
	}
}

// Last waits until n notifications were shown and returns the last one.
func (s *Server) Last(t testing.TB, n int) Shown {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		if all := s.All(); len(all) >= n {
			return all[len(all)-1]
		}
		if time.Now().After(end) {
			t.Fatalf("%d notifications were shown, want %d", len(s.All()), n)
		}
	}
}

// Press signals that an action was chosen and then that the notification was closed.
func (s *Server) Press(id uint32, key string) {
	s.Only(id, key)
	s.Close(id, 2)
}

// Only signals that an action was chosen, but not that the notification was closed.
func (s *Server) Only(id uint32, key string) { _ = s.conn.Emit(path, Name+".ActionInvoked", id, key) }

// Close signals that a notification was closed.
func (s *Server) Close(id, reason uint32) {
	_ = s.conn.Emit(path, Name+".NotificationClosed", id, reason)
}

// serverMethods contains the methods that the bus may call.
type serverMethods struct{ s *Server }

// GetCapabilities implements the specification.
func (v serverMethods) GetCapabilities() ([]string, *dbus.Error) { return v.s.caps, nil }

// GetServerInformation implements the specification.
func (v serverMethods) GetServerInformation() (name, vendor, version, spec string, err *dbus.Error) {
	return "test server", "hob", "1", "1.2", nil
}

// CloseNotification implements the specification.
func (v serverMethods) CloseNotification(id uint32) *dbus.Error {
	v.s.mu.Lock()
	v.s.closed = append(v.s.closed, id)
	v.s.mu.Unlock()
	v.s.Close(id, 3)
	return nil
}

// Notify implements the specification.
func (v serverMethods) Notify(app string, replaces uint32, icon, title, body string, actions []string, hints map[string]dbus.Variant, timeout int32) (uint32, *dbus.Error) {
	s := v.s
	s.mu.Lock()
	stall := s.stall
	var fail *dbus.Error
	if len(s.fail) > 0 {
		fail, s.fail = s.fail[0], s.fail[1:]
	}
	s.mu.Unlock()
	if stall != nil {
		<-stall
	}
	if fail != nil {
		return 0, fail
	}
	s.mu.Lock()
	id := replaces
	if id == 0 {
		id = s.next
		s.next++
	}
	s.shown = append(s.shown, Shown{id, replaces, app, icon, title, body, actions, hints, timeout})
	fast := s.faster
	s.mu.Unlock()
	if fast != "" {
		s.Press(id, fast)
	}
	return id, nil
}
