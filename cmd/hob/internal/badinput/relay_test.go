//go:build unix

package badinput

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// relayVar makes this program a relay. Its value is the address of the relay's target.
const relayVar = "HOB_BADINPUT_RELAY"

// relayConnections forwards connections to an address until its input ends. The daemon trusts only its own
// user, so a test that runs as the superuser sends its requests through a program of that user.
func relayConnections(to string) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(l.Addr())
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go relayConnection(in, to)
		}
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

func relayConnection(in net.Conn, to string) {
	defer in.Close()
	out, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", to)
	if err != nil {
		return
	}
	defer out.Close()
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(out, in)
		_ = out.(*net.TCPConn).CloseWrite()
	})
	_, _ = io.Copy(in, out)
	_ = in.(*net.TCPConn).CloseWrite()
	both.Wait()
}

func relayProgram() string { return filepath.Join(workshop, "relay") }

// copySelf copies this program to a folder from which every user can run it.
func copySelf() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	b, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	return os.WriteFile(relayProgram(), b, 0o755) //nolint:gosec // the user nobody must be able to run it
}

// dialServer connects to the daemon as its own user.
func (h *daemonFixture) dialServer(ctx context.Context, network, addr string) (net.Conn, error) {
	if isSuperuser() {
		addr = h.relayTo(addr)
	}
	return (&net.Dialer{}).DialContext(ctx, network, addr)
}

// relayTo starts a relay that ends with the test.
func (h *daemonFixture) relayTo(addr string) string {
	h.t.Helper()
	h.relayMu.Lock()
	defer h.relayMu.Unlock()
	if at, ok := h.relays[addr]; ok {
		return at
	}
	cmd := exec.CommandContext(h.t.Context(), relayProgram())
	cmd.Env = []string{relayVar + "=" + addr}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody, NoSetGroups: true}}
	in, err := cmd.StdinPipe()
	failOnError(h.t, err)
	out, err := cmd.StdoutPipe()
	failOnError(h.t, err)
	failOnError(h.t, cmd.Start())
	h.t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait() // fails if the context has ended the relay
	})
	at, err := bufio.NewReader(out).ReadString('\n')
	failOnError(h.t, err)
	if h.relays == nil {
		h.relays = map[string]string{}
	}
	h.relays[addr] = strings.TrimSpace(at)
	return h.relays[addr]
}
