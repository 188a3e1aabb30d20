package redteam

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"hob/platform/text/memoryfile"
)

// hits records what reached a receiver.
type hits struct {
	mu  sync.Mutex
	all []string
}

func (h *hits) addHit(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, fmt.Sprintf(format, args...))
}

func (h *hits) listHits() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.all)
}

// httpSink counts connections, whatever their content, on every loopback address of this machine.
type httpSink struct {
	hits
	port int
}

func newHTTPSink(t *testing.T) *httpSink {
	t.Helper()
	s := &httpSink{}
	first, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	failOnError(t, err)
	s.port = first.Addr().(*net.TCPAddr).Port
	listeners := []net.Listener{first}
	if v6, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", fmt.Sprintf("[::1]:%d", s.port)); err == nil {
		listeners = append(listeners, v6)
	}
	srv := &http.Server{
		Handler:           http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { s.addHit("%s %s %s", r.Method, r.Host, r.URL) }),
		ConnState:         func(_ net.Conn, st http.ConnState) { s.countOpened(st) },
		ReadHeaderTimeout: 1e10,
	}
	var wg sync.WaitGroup
	for _, l := range listeners {
		wg.Go(func() { _ = srv.Serve(l) }) // always ErrServerClosed
	}
	t.Cleanup(func() { _ = srv.Close(); wg.Wait() })
	return s
}

func (s *httpSink) countOpened(st http.ConnState) {
	if st == http.StateNew {
		s.addHit("a connection")
	}
}

// smtpSink counts mails and connections.
type smtpSink struct {
	hits
	port int
}

func newSMTPSink(t *testing.T) *smtpSink {
	t.Helper()
	s := &smtpSink{}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	failOnError(t, err)
	s.port = l.Addr().(*net.TCPAddr).Port
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.addHit("a connection")
			wg.Go(func() { s.serveConn(c) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	return s
}

func (s *smtpSink) serveConn(c net.Conn) {
	defer c.Close()
	fmt.Fprint(c, "220 sink ESMTP\r\n")
	for in := bufio.NewScanner(c); in.Scan(); {
		line := in.Text()
		s.addHit("%s", line)
		switch {
		case strings.HasPrefix(line, "DATA"):
			fmt.Fprint(c, "354 go on\r\n")
		case strings.HasPrefix(line, "QUIT"):
			fmt.Fprint(c, "221 bye\r\n")
			return
		default:
			fmt.Fprint(c, "250 ok\r\n")
		}
	}
}

// dnsSink resolves every name to loopback. A check of the name alone would therefore let the
// connection through.
type dnsSink struct {
	addr string
	conn net.PacketConn
	wg   sync.WaitGroup

	mu    sync.Mutex
	asked map[string]int
}

func (d *dnsSink) listenUDP() (err error) {
	if d.conn, err = net.ListenPacket("udp", "127.0.0.1:0"); err != nil {
		return err
	}
	d.addr = d.conn.LocalAddr().String()
	d.wg.Go(func() {
		buf := make([]byte, 4096)
		for {
			n, from, err := d.conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if out := d.answerQuery(buf[:n]); out != nil {
				_, _ = d.conn.WriteTo(out, from)
			}
		}
	})
	return nil
}

func (d *dnsSink) closeSink() {
	_ = d.conn.Close()
	d.wg.Wait()
}

// answerQuery reads the question of a query (RFC 1035, section 4.1) and returns 127.0.0.1 for address
// queries.
func (d *dnsSink) answerQuery(query []byte) []byte {
	const header = 12
	var labels []string
	i := header
	for i < len(query) && query[i] != 0 {
		end := i + 1 + int(query[i])
		if query[i] > 63 || end > len(query) {
			return nil
		}
		labels = append(labels, string(query[i+1:end]))
		i = end
	}
	end := i + 5 // the terminating zero, the type and the class
	if end > len(query) {
		return nil
	}
	d.mu.Lock()
	d.asked[strings.Join(labels, ".")]++
	d.mu.Unlock()
	out := append([]byte(nil), query[:end]...)
	out[2], out[3] = 0x81, 0x80                   // an answer, without error
	copy(out[6:header], []byte{0, 0, 0, 0, 0, 0}) // clears the record counts; the response has no answers yet
	if query[i+1] == 0 && query[i+2] == 1 {       // type A
		out[7] = 1
		out = append(out, 0xC0, header, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1)
	}
	return out
}

// takeNames returns the names that were looked up since the last call.
func (d *dnsSink) takeNames() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for n := range d.asked {
		out = append(out, n)
	}
	d.asked = map[string]int{}
	slices.Sort(out)
	return out
}

// programs are placed first on the PATH. Each leaves a mark when it runs.
var programs = []string{
	"curl", "wget", "nc", "ncat", "netcat", "ssh", "scp", "sftp", "rsync", "ftp", "telnet", "python", "python3", "perl", "ruby", "node", "php", "lua",
	"bash", "zsh", "sh", "dash", "busybox", "osascript", "xdg-open", "open", "crontab", "at", "systemctl", "hob", "nslookup", "dig", "host", "ping",
	"mail", "sendmail", "sudo", "su", "docker", "podman", "gcc", "make", "npm", "pip", "go", "socat", "openssl", "gpg", "notify-send", "xclip",
	"kill", "pkill", "killall", "shutdown", "reboot", "launchctl", "codex", "claude", "gemini", "opencode", "id", "powershell", "pwsh",
}

// processSink is a folder of programs that leave a mark.
type processSink struct{ bin, marks string }

func newProcessSink(t *testing.T) *processSink {
	t.Helper()
	dir := t.TempDir()
	p := &processSink{bin: filepath.Join(dir, "bin"), marks: filepath.Join(dir, "marks")}
	failOnError(t, os.Mkdir(p.bin, 0o700))
	for _, name := range programs {
		script := fmt.Sprintf("#!/bin/sh\necho \"%s $*\" >> %q\n", name, p.marks)
		failOnError(t, os.WriteFile(filepath.Join(p.bin, name), []byte(script), 0o700))
	}
	return p
}

func (p *processSink) listProcesses() []string {
	b, err := os.ReadFile(p.marks)
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

// takeSnapshot returns the state of every file below a folder, except the files that skip selects.
func takeSnapshot(t *testing.T, root string, skip func(rel string) bool) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if skip(rel) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		what := info.Mode().String()
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			what += " -> " + to
		case info.Mode().IsRegular():
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if name := d.Name(); name == "USER.md" || name == "MEMORY.md" { // Hob lists its facts below the user's text
				b = []byte(strings.TrimSpace(memoryfile.UserText(string(b))))
			}
			what += fmt.Sprintf(" %x", sha256.Sum256(b))
		}
		out[rel] = what
		return nil
	})
	failOnError(t, err)
	return out
}

// diffSnapshots lists the differences between two snapshots.
func diffSnapshots(before, after map[string]string) (out []string) {
	for path, was := range before {
		switch is, there := after[path]; {
		case !there:
			out = append(out, path+" is gone")
		case is != was:
			out = append(out, path+" is different")
		}
	}
	for path := range after {
		if _, there := before[path]; !there {
			out = append(out, path+" is new")
		}
	}
	slices.Sort(out)
	return out
}
