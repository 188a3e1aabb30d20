package system

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

func clientOf(from, to netip.AddrPort, tree Tree, _ bool) (Client, error) {
	pid, uid, err := socketOwner(from, to)
	if err != nil {
		return ClientUnknown, err
	}
	switch {
	case uid != os.Getuid() && uid != 0:
		return ClientStranger, nil
	case pid <= 0:
		return ClientUnknown, nil
	case startedBy(pid, tree):
		return ClientHob, nil
	}
	return ClientOwner, nil
}

// The records of net.inet.tcp.pcblist_n, which netstat -v reads. Each record begins with its length
// and kind and is padded to 8 bytes. See bsd/netinet/in_pcb.h and bsd/sys/socketvar.h of XNU.
const (
	kindSocket = 0x001 // xsocket_n
	kindPCB    = 0x010 // xinpcb_n
)

// socketOwner returns the process that used a socket last, and its user.
func socketOwner(from, to netip.AddrPort) (pid, uid int, err error) {
	raw, err := unix.SysctlRaw("net.inet.tcp.pcblist_n")
	if err != nil {
		return 0, 0, err
	}
	if len(raw) < 4 {
		return 0, 0, errGone
	}
	mine := false
	for at := int(binary.NativeEndian.Uint32(raw)); at+8 <= len(raw); {
		size, kind := int(binary.NativeEndian.Uint32(raw[at:])), binary.NativeEndian.Uint32(raw[at+4:])
		if size < 8 || at+size > len(raw) {
			break
		}
		rec := raw[at : at+size]
		switch {
		case kind == kindPCB && size >= 80:
			mine = pcbIs(rec, from, to)
		case kind == kindSocket && size >= 76 && mine:
			return int(int32(binary.NativeEndian.Uint32(rec[68:]))), int(binary.NativeEndian.Uint32(rec[64:])), nil
		}
		at += (size + 7) &^ 7
	}
	return 0, 0, errGone
}

// pcbIs compares the two addresses of an xinpcb_n. Ports are in network byte order at offsets 16
// (foreign) and 18 (local), the version is at 44, and addresses are at 48 (foreign) and 64 (local);
// IPv4 uses the last four bytes of an address.
func pcbIs(rec []byte, from, to netip.AddrPort) bool {
	if binary.BigEndian.Uint16(rec[18:]) != from.Port() || binary.BigEndian.Uint16(rec[16:]) != to.Port() {
		return false
	}
	foreign, local := rec[48:64], rec[64:80]
	if rec[44]&1 != 0 { // INP_IPV4
		foreign, local = foreign[12:], local[12:]
	}
	l, _ := netip.AddrFromSlice(local)
	f, _ := netip.AddrFromSlice(foreign)
	return l.Unmap() == from.Addr() && f.Unmap() == to.Addr()
}

func startedBy(pid int, tree Tree) bool {
	if slices.Contains(tree.Roots, pid) {
		return true
	}
	for depth := 0; pid > 1 && pid != tree.PID; depth++ {
		p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
		if err != nil || depth > 1000 {
			return true // unknown: assume the worst
		}
		if hasMarker(pid) {
			return true
		}
		parent := int(p.Eproc.Ppid)
		if parent == tree.PID && parent > 0 || slices.Contains(tree.Roots, parent) {
			return true
		}
		pid = parent
	}
	return false
}

// hasMarker checks the environment of a process. macOS returns the environment of the user's own
// processes except protected ones.
func hasMarker(pid int) bool {
	b, err := unix.SysctlRaw("kern.procargs2", pid)
	return err == nil && bytes.Contains(b, []byte("\x00"+Marker+"="))
}
