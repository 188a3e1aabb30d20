package system

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

func clientOf(from, to netip.AddrPort, tree Tree, _ bool) (Client, error) {
	pid, err := socketOwner(from, to)
	if err != nil {
		return ClientUnknown, err
	}
	same, err := sameUser(pid)
	switch {
	case err != nil: // a process of another user, or a protected one
		return ClientUnknown, err
	case !same:
		return ClientStranger, nil
	case startedBy(pid, tree):
		return ClientHob, nil
	}
	return ClientOwner, nil
}

const tcpTableOwnerPIDConnections = 4 // TCP_TABLE_OWNER_PID_CONNECTIONS

// socketOwner queries GetExtendedTcpTable, whose rows are MIB_TCPROW_OWNER_PID and MIB_TCP6ROW_OWNER_PID.
func socketOwner(from, to netip.AddrPort) (int, error) {
	rows, size := uint32(windows.AF_INET), 24
	if from.Addr().Is6() {
		rows, size = windows.AF_INET6, 56
	}
	table, err := tcpTable(rows)
	if err != nil {
		return 0, err
	}
	for at := 4; at+size <= len(table); at += size {
		row := table[at : at+size]
		var local, remote netip.AddrPort
		var pid uint32
		if size == 24 {
			local, remote = rowAddr(row[4:8], row[8:]), rowAddr(row[12:16], row[16:])
			pid = binary.LittleEndian.Uint32(row[20:])
		} else {
			local, remote = rowAddr(row[0:16], row[20:]), rowAddr(row[24:40], row[44:])
			pid = binary.LittleEndian.Uint32(row[52:])
		}
		if local == from && remote == to && pid != 0 {
			return int(pid), nil
		}
	}
	return 0, errGone
}

func rowAddr(addr, port []byte) netip.AddrPort {
	a, _ := netip.AddrFromSlice(addr)
	return netip.AddrPortFrom(a.Unmap(), binary.BigEndian.Uint16(port))
}

func tcpTable(family uint32) ([]byte, error) {
	call := windows.NewLazySystemDLL("iphlpapi.dll").NewProc("GetExtendedTcpTable")
	if err := call.Find(); err != nil {
		return nil, errors.Join(errors.ErrUnsupported, err)
	}
	size := uint32(64 << 10)
	for range 8 { // the table may grow between calls
		buf := make([]byte, size)
		code, _, _ := call.Call(uintptr(unsafe.Pointer(&buf[0])), uintptr(unsafe.Pointer(&size)), 0, uintptr(family), tcpTableOwnerPIDConnections, 0)
		switch syscall.Errno(code) {
		case 0:
			n := int(binary.LittleEndian.Uint32(buf))
			row := 24
			if family == windows.AF_INET6 {
				row = 56
			}
			return buf[:min(len(buf), 4+n*row)], nil
		case windows.ERROR_INSUFFICIENT_BUFFER:
			size += 16 << 10
		default:
			return nil, syscall.Errno(code)
		}
	}
	return nil, windows.ERROR_INSUFFICIENT_BUFFER
}

func sameUser(pid int) (bool, error) {
	p, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return false, err
	}
	defer windows.CloseHandle(p) //nolint:errcheck // an error cannot be handled
	var t windows.Token
	if err := windows.OpenProcessToken(p, windows.TOKEN_QUERY, &t); err != nil {
		return false, err
	}
	defer t.Close()
	theirs, err := t.GetTokenUser()
	if err != nil {
		return false, err
	}
	ours, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return false, err
	}
	return theirs.User.Sid.Equals(ours.User.Sid), nil
}

// startedBy checks the parents, and the job object of KeepOrphans, which also contains processes whose
// parent has ended.
func startedBy(pid int, tree Tree) bool {
	if slices.Contains(tree.Roots, pid) || tree.PID > 0 && pid != tree.PID && inJob(pid, tree.PID) {
		return true
	}
	parents, err := parentPIDs()
	if err != nil {
		return true // unknown: assume the worst
	}
	for range parents {
		if pid == tree.PID || pid == 0 {
			return false
		}
		parent, there := parents[pid]
		if !there || !startedBefore(parent, pid) { // the pid of an ended parent was reused
			return false
		}
		if parent == tree.PID || slices.Contains(tree.Roots, parent) {
			return true
		}
		pid = parent
	}
	return false
}

func parentPIDs() (map[int]int, error) {
	snap, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return nil, err
	}
	defer windows.CloseHandle(snap) //nolint:errcheck // an error cannot be handled
	e := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	out := map[int]int{}
	for err = windows.Process32First(snap, &e); err == nil; err = windows.Process32Next(snap, &e) {
		out[int(e.ProcessID)] = int(e.ParentProcessID)
	}
	if errors.Is(err, windows.ERROR_NO_MORE_FILES) {
		err = nil
	}
	return out, err
}

// startedBefore reports whether process a started before process b.
func startedBefore(a, b int) bool {
	x, ok := startTime(a)
	y, ok2 := startTime(b)
	return ok && ok2 && x <= y
}

func startTime(pid int) (int64, bool) {
	p, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return 0, false
	}
	defer windows.CloseHandle(p) //nolint:errcheck // an error cannot be handled
	var made, ended, kernel, user windows.Filetime
	if windows.GetProcessTimes(p, &made, &ended, &kernel, &user) != nil {
		return 0, false
	}
	return made.Nanoseconds(), true
}

// jobName returns the name of the job object of a Hob process and its children; see KeepOrphans.
func jobName(pid int) (*uint16, error) {
	return windows.UTF16PtrFromString(`Local\hob-` + strconv.Itoa(pid))
}

const jobObjectQuery = 4 // JOB_OBJECT_QUERY

// inJob reports whether a process is in the job object of a Hob process.
func inJob(pid, hob int) bool {
	name, err := jobName(hob)
	if err != nil {
		return true // unknown: assume the worst
	}
	kernel := windows.NewLazySystemDLL("kernel32.dll")
	h, _, _ := kernel.NewProc("OpenJobObjectW").Call(jobObjectQuery, 0, uintptr(unsafe.Pointer(name)))
	if h == 0 {
		return false
	}
	defer windows.CloseHandle(windows.Handle(h))                                         //nolint:errcheck // an error cannot be handled
	p, err := windows.OpenProcess(windows.PROCESS_QUERY_INFORMATION, false, uint32(pid)) // older systems and Wine require this access right
	if err != nil {
		p, err = windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	}
	if err != nil {
		return true
	}
	defer windows.CloseHandle(p) //nolint:errcheck // an error cannot be handled
	var in int32
	ok, _, _ := kernel.NewProc("IsProcessInJob").Call(uintptr(p), h, uintptr(unsafe.Pointer(&in)))
	return ok == 0 || in != 0
}
