package system

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func clientBelow(client string, roots []int) (bool, error) {
	addr, err := netip.ParseAddrPort(client)
	if err != nil {
		return false, fmt.Errorf("find the process behind %s: %w", client, err)
	}
	inode, err := socketOf(addr)
	if err != nil {
		return false, err
	}
	if inode == "" || inode == "0" { // closed by a process that did not wait for the answer
		if addr.Addr().IsLoopback() {
			return false, fmt.Errorf("find the process behind %s: the connection has gone", client)
		}
		return false, nil // another machine's
	}
	parents, err := parents()
	if err != nil {
		return false, err
	}
	for pid := range parents {
		if (below(pid, parents, roots) || marked(pid)) && holds(pid, inode) {
			return true, nil
		}
	}
	return false, nil
}

// socketOf finds the inode of the socket that is bound to an address; "" when
// it has gone. See proc(5), /proc/net/tcp.
func socketOf(addr netip.AddrPort) (string, error) {
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(file)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return "", err
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			fields := strings.Fields(lines.Text())
			if len(fields) > 9 && procAddr(fields[1]) == netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port()) {
				return fields[9], f.Close()
			}
		}
		if err := f.Close(); err != nil {
			return "", err
		}
	}
	return "", nil
}

// procAddr reads an address as the kernel prints it: words in the machine's
// byte order, then the port.
func procAddr(s string) netip.AddrPort {
	host, port, _ := strings.Cut(s, ":")
	n, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		return netip.AddrPort{}
	}
	var b []byte
	for len(host) >= 8 {
		word, err := strconv.ParseUint(host[:8], 16, 32)
		if err != nil {
			return netip.AddrPort{}
		}
		b = binary.NativeEndian.AppendUint32(b, uint32(word))
		host = host[8:]
	}
	a, ok := netip.AddrFromSlice(b)
	if !ok {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(a.Unmap(), uint16(n))
}

// parents maps each process to the one that is its parent now.
func parents() (map[int]int, error) {
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	out := map[int]int{}
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		b, err := os.ReadFile(filepath.Join("/proc", d.Name(), "stat"))
		if err != nil {
			continue // it has ended
		}
		rest := b[bytes.LastIndexByte(b, ')')+1:] // the name may hold anything
		if fields := strings.Fields(string(rest)); len(fields) > 1 {
			out[pid], _ = strconv.Atoi(fields[1]) // 0 is nobody
		}
	}
	return out, nil
}

func below(pid int, parents map[int]int, roots []int) bool {
	for range parents { // a chain is no longer than that
		if slices.Contains(roots, pid) {
			return true
		}
		if pid = parents[pid]; pid <= 1 {
			return false
		}
	}
	return false
}

func marked(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && (bytes.HasPrefix(b, []byte(Marker+"=")) || bytes.Contains(b, []byte("\x00"+Marker+"=")))
}

func holds(pid int, inode string) bool {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	files, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(files, func(f os.DirEntry) bool {
		to, err := os.Readlink(filepath.Join(dir, f.Name()))
		return err == nil && to == "socket:["+inode+"]"
	})
}
