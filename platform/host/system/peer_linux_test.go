package system

import (
	"bufio"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"testing"
	"time"
)

func listenLocal(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

func BenchmarkClientOf(b *testing.B) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	for b.Loop() {
		if got, err := ClientOf(c.LocalAddr().String(), ln.Addr().String(), Tree{PID: os.Getpid()}, true); err != nil || got != ClientOwner {
			b.Fatal(got, err)
		}
	}
}

func TestClientOf(t *testing.T) {
	ln := listenLocal(t)
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	client, server := c.LocalAddr().String(), ln.Addr().String()
	for name, x := range map[string]struct {
		tree Tree
		want Client
	}{
		"itself is a root":  {Tree{Roots: []int{os.Getpid()}}, ClientHob},
		"its parent is one": {Tree{Roots: []int{os.Getppid()}}, ClientHob},
		"below its parent":  {Tree{PID: os.Getppid()}, ClientHob},
		"Hob itself":        {Tree{PID: os.Getpid()}, ClientOwner},
		"another user":      {Tree{PID: 1 << 30, Roots: []int{1 << 30}}, ClientOwner},
		"nobody":            {Tree{}, ClientOwner},
	} {
		for _, thorough := range []bool{false, true} {
			if got, err := ClientOf(client, server, x.tree, thorough); err != nil || got != x.want {
				t.Errorf("%s, thorough %v: %v, %v", name, thorough, got, err)
			}
		}
	}
	if got, err := ClientOf("192.0.2.1:1", server, Tree{PID: os.Getpid()}, true); err != nil || got != ClientRemote {
		t.Errorf("ClientOf a connection from another machine = %v, %v", got, err)
	}
	elsewhere := listenLocal(t).Addr().String()
	if got, err := ClientOf(client, elsewhere, Tree{}, true); err == nil || got != ClientUnknown {
		t.Errorf("ClientOf with another server address = %v, %v", got, err)
	}
	c.Close()
	if got, err := ClientOf(client, server, Tree{PID: os.Getpid()}, false); err == nil || got != ClientUnknown {
		t.Errorf("closed connection: %v without an error, want an error", got)
	}
	if _, err := ClientOf("in-process", server, Tree{}, true); err == nil {
		t.Error("an invalid address was accepted")
	}
}

// TestStartedByHob_FindsAChild checks a child of the tree, a child that changed its environment, and a process
// outside of the tree that has the marker.
func TestStartedByHob_FindsAChild(t *testing.T) {
	for name, x := range map[string]struct {
		env      []string
		tree     Tree
		thorough bool
		want     Client
	}{
		"below":              {nil, Tree{PID: os.Getpid()}, false, ClientHob},
		"below, thorough":    {nil, Tree{PID: os.Getpid()}, true, ClientHob},
		"marked":             {[]string{Marker + "=x"}, Tree{PID: 1 << 30}, true, ClientHob},
		"neither":            {nil, Tree{PID: 1 << 30}, true, ClientOwner},
		"a lookalike marker": {[]string{"X" + Marker + "=x"}, Tree{PID: 1 << 30}, true, ClientOwner},
	} {
		t.Run(name, func(t *testing.T) {
			ln := listenLocal(t)
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(x.env, "HOB_TEST_DETACHED=connect", "CONNECT_TO="+ln.Addr().String())
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			conn, err := ln.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				conn.Close()
				_ = cmd.Wait() // its exit status does not matter
			}()
			if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			got, err := ClientOf(conn.RemoteAddr().String(), conn.LocalAddr().String(), x.tree, x.thorough)
			if err != nil || got != x.want {
				t.Errorf("ClientOf = %v, %v", got, err)
			}
			if by := StartedByHob(cmd.Process.Pid, x.tree.PID); by != (x.want == ClientHob) {
				t.Errorf("StartedByHob = %v", by)
			}
		})
	}
}

// A child that has not executed its own program yet briefly holds its parent's socket. A child that
// keeps the socket is identified as the client.
func TestClientOf_ChildWithTheSocketOfItsParent(t *testing.T) {
	ln := listenLocal(t)
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	f, err := c.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for name, want := range map[string]Client{"for a moment": ClientOwner, "for good": ClientHob} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "cat")
			cmd.ExtraFiles = []*os.File{f}
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			end := func() { in.Close(); ended <- cmd.Wait() }
			if want == ClientOwner {
				time.AfterFunc(2*forkWait, end)
			}
			got, err := ClientOf(c.LocalAddr().String(), ln.Addr().String(), Tree{PID: os.Getpid()}, true)
			if err != nil || got != want {
				t.Errorf("ClientOf = %v, %v", got, err)
			}
			if want == ClientHob {
				end()
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestProcAddr(t *testing.T) {
	for in, want := range map[string]string{
		"0100007F:1F90":                         "127.0.0.1:8080",
		"0000000000000000FFFF00000100007F:0050": "127.0.0.1:80",
		"00000000000000000000000001000000:0016": "[::1]:22",
	} {
		if got := procAddr(in).String(); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	for _, in := range []string{"", "zz:1", "0100007F", "0100007F:zz", "01:1"} {
		if got := procAddr(in); got.IsValid() {
			t.Errorf("%q: procAddr = %s", in, got)
		}
	}
}

// TestLookUp_BothWaysAgree checks that both lookups find the same socket.
func TestLookUp_BothWaysAgree(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:0", "[::1]:0"} {
		ln, err := net.Listen("tcp", addr)
		if err != nil {
			t.Logf("%s: %v", addr, err) // this machine has no IPv6
			continue
		}
		defer ln.Close()
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		from, to := netip.MustParseAddrPort(c.LocalAddr().String()), netip.MustParseAddrPort(ln.Addr().String())
		slow, uid, err := socketOf(from, to)
		if err != nil || uid != os.Getuid() {
			t.Errorf("%s: /proc/net/tcp: %s %d %v", addr, slow, uid, err)
		}
		fast, uid, err := lookUp(from, to)
		if err != nil || fast != slow || uid != os.Getuid() {
			t.Errorf("%s: sock_diag: %s %d %v, want %s", addr, fast, uid, err, slow)
		}
		if _, _, err := lookUp(to, netip.MustParseAddrPort("127.0.0.1:1")); err == nil {
			t.Error("a listener was reported as a connection")
		}
	}
}

// Processes started by systemd-run or by Hob's application launcher are recognized by their
// unit, whatever their parent is; the user's own terminal and desktop are not.
func TestUnits(t *testing.T) {
	const user = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/"
	for cgroup, want := range map[string]string{
		user + "run-r1f.service\n":             "run-r1f.service",
		user + "run-u7.scope\n":                "run-u7.scope",
		user + "app-hob-JBSWY3DP.service\n":    "app-hob-JBSWY3DP.service",
		user + "app-gnome-firefox-42.scope\n":  "",
		user + "app-hobby-1.service\n":         "",
		user + "hob.service\n":                 "",
		"0::/":                                 "",
		user + "app-hob-X.service/inner.scope": "app-hob-X.service",
	} {
		if got := unitIn(cgroup); got != want {
			t.Errorf("%s: %q, want %q", cgroup, got, want)
		}
	}
}
