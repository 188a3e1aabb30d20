package system

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Before a new child executes its program, it has all open files of its parent, including a socket
// of the tree's own process. In that case the lookup is repeated for up to 2 s.
const (
	forkLooks = 80
	forkWait  = 25 * time.Millisecond
)

func clientOf(from, to netip.AddrPort, tree Tree, thorough bool) (Client, error) {
	for n := 0; ; n++ {
		c, inode, err := lookAt(from, to, tree, thorough)
		if c != ClientHob || n == forkLooks || tree.PID <= 0 || !holdsSocket(tree.PID, inode) {
			return c, err
		}
		<-time.After(forkWait)
	}
}

func lookAt(from, to netip.AddrPort, tree Tree, thorough bool) (c Client, inode string, err error) {
	inode, uid, err := lookUp(from, to)
	if err != nil && !errors.Is(err, errGone) { // the kernel does not support sock_diag
		inode, uid, err = socketOf(from, to)
	}
	if err != nil {
		return ClientUnknown, inode, err
	}
	if uid != os.Getuid() && uid != 0 {
		return ClientStranger, inode, nil
	}
	own, err := treeDescendants(tree)
	if err != nil {
		return ClientUnknown, inode, err
	}
	for pid := range own {
		if holdsSocket(pid, inode) {
			return ClientHob, inode, nil
		}
	}
	if !thorough {
		return ClientOwner, inode, nil
	}
	c, err = findSocketHolder(inode, tree)
	return c, inode, err
}

// findSocketHolder searches all processes for one that has the socket open. If several processes
// have the socket open, it is sufficient that one of them belongs to Hob.
func findSocketHolder(inode string, tree Tree) (Client, error) {
	pids, err := listPIDs()
	if err != nil {
		return ClientUnknown, err
	}
	found := ClientUnknown
	for _, pid := range pids {
		if !holdsSocket(pid, inode) {
			continue
		}
		parents := ancestorsOf(pid)
		if parents == nil { // a process that has ended cannot be identified
			continue
		}
		if by := findLauncher(pid, parents); by != "" {
			return ClientUnknown, fmt.Errorf("process %d was started by %s on behalf of an unknown process", pid, by)
		}
		if belongsToTree(pid, parents, tree) {
			return ClientHob, nil
		}
		found = ClientOwner
	}
	return found, nil
}

// socketOf returns the socket bound to one address and connected to the other, and the socket's
// user. Both addresses are compared, because a port may have several connections. See proc(5),
// /proc/net/tcp.
func socketOf(from, to netip.AddrPort) (inode string, uid int, err error) {
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(file)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return "", 0, err
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			fields := strings.Fields(lines.Text())
			if len(fields) < 10 || fields[9] == "0" || procAddr(fields[1]) != from || procAddr(fields[2]) != to {
				continue
			}
			uid, err := strconv.Atoi(fields[7])
			if err != nil {
				uid = -1
			}
			return fields[9], uid, f.Close()
		}
		if err := errors.Join(lines.Err(), f.Close()); err != nil {
			return "", 0, err
		}
	}
	return "", 0, errGone
}

// procAddr parses an address in the kernel's format: words in the machine's byte order, followed by
// the port.
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

func isTreeRunning(tree Tree) (bool, error) {
	own, err := treeDescendants(tree)
	if err != nil {
		return true, err
	}
	spared, home := map[int]bool{}, ""
	if own[tree.Spare] {
		if spared, err = treeDescendants(Tree{Roots: []int{tree.Spare}}); err != nil {
			return true, err
		}
		home = executableDir(tree.Spare)
	}
	for pid := range own {
		if home != "" && spared[pid] && executableDir(pid) == home {
			continue
		}
		if s := processState(pid); s != 0 && s != 'Z' { // otherwise it has ended
			return true, nil
		}
	}
	return false, nil
}

// executableDir returns the folder of a process's program, or "" if it is unknown. The name of the
// process is not used, because processes can change it.
func executableDir(pid int) string {
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil || strings.HasSuffix(path, " (deleted)") {
		return ""
	}
	return filepath.Dir(path)
}

// treeDescendants returns the processes of a tree. It reads the children of each thread from the
// kernel (proc(5)), or searches all processes if the kernel does not list them.
func treeDescendants(tree Tree) (map[int]bool, error) {
	own := map[int]bool{}
	todo := slices.Clone(tree.Roots)
	for _, pid := range todo {
		own[pid] = true
	}
	if tree.PID > 0 {
		todo = append(todo, tree.PID)
	}
	for len(todo) > 0 {
		children, err := childrenOf(todo[0])
		if errors.Is(err, errors.ErrUnsupported) {
			return descendantsByParent(tree)
		}
		if err != nil {
			return nil, err
		}
		todo = todo[1:]
		for _, pid := range children {
			if !own[pid] {
				own[pid] = true
				todo = append(todo, pid)
			}
		}
	}
	return own, nil
}

func childrenOf(pid int) (out []int, err error) {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil, nil //nolint:nilerr // the process has ended
	}
	listed := false
	for _, t := range threads {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t.Name()))
		if err != nil {
			continue
		}
		listed = true
		for _, f := range strings.Fields(string(b)) {
			if pid, err := strconv.Atoi(f); err == nil {
				out = append(out, pid)
			}
		}
	}
	if !listed {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
			return nil, errors.ErrUnsupported // CONFIG_PROC_CHILDREN is off
		}
	}
	return out, nil
}

func descendantsByParent(tree Tree) (map[int]bool, error) {
	parents, err := parentPIDs()
	if err != nil {
		return nil, err
	}
	own := map[int]bool{}
	for pid := range parents {
		if descendsFromTree(pid, parents, tree) {
			own[pid] = true
		}
	}
	return own, nil
}

// ancestorsOf maps a process and each of its ancestors to its current parent. It returns nil if the
// process has ended. If an ancestor ends meanwhile, its children get another parent.
func ancestorsOf(pid int) map[int]int {
	for range 100 {
		out := map[int]int{}
		next := pid
		for next > 0 {
			fields := statOf(next)
			if len(fields) < 2 {
				break
			}
			out[next], _ = strconv.Atoi(fields[1]) // 0 means no parent
			next = out[next]
		}
		if next <= 0 {
			return out
		}
		if next == pid {
			break
		}
	}
	return nil
}

// parentPIDs maps each process to its current parent.
func parentPIDs() (map[int]int, error) {
	pids, err := listPIDs()
	if err != nil {
		return nil, err
	}
	out := map[int]int{}
	for _, pid := range pids {
		if fields := statOf(pid); len(fields) > 1 {
			out[pid], _ = strconv.Atoi(fields[1])
		}
	}
	return out, nil
}

func listPIDs() ([]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	if err := errors.Join(err, dir.Close()); err != nil {
		return nil, err
	}
	var out []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			out = append(out, pid)
		}
	}
	return out, nil
}

// statOf returns the fields of /proc/PID/stat that follow the name: state, parent, and so on. It
// returns nil if the process has ended.
func statOf(pid int) []string {
	fd, err := openProc(pid, "stat", 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd) //nolint:errcheck // closing loses no data
	var buf [1024]byte   // 52 numbers and a name of at most 64 bytes, see proc_pid_stat(5)
	n, err := retryInterrupted(func() (int, error) { return unix.Read(fd, buf[:]) })
	if err != nil {
		return nil
	}
	return strings.Fields(string(buf[bytes.LastIndexByte(buf[:n], ')')+1 : n])) // the name may contain any characters
}

func processState(pid int) byte {
	if f := statOf(pid); len(f) > 0 {
		return f[0][0]
	}
	return 0
}

// descendsFromTree reports whether an ancestor of a process belongs to the tree.
func descendsFromTree(pid int, parents map[int]int, tree Tree) bool {
	if slices.Contains(tree.Roots, pid) {
		return true
	}
	for range parents { // limits the length of the chain
		pid = parents[pid]
		if pid == tree.PID && pid > 0 || slices.Contains(tree.Roots, pid) {
			return true
		}
		if pid <= 1 {
			return false
		}
	}
	return false
}

// belongsToTree reports whether a process descends from the tree, or whether the process or one of
// its ancestors has the Marker.
func belongsToTree(pid int, parents map[int]int, tree Tree) bool {
	if descendsFromTree(pid, parents, tree) {
		return true
	}
	for range parents {
		if pid <= 1 || pid == tree.PID {
			return false
		}
		if hasMarker(pid) {
			return true
		}
		pid = parents[pid]
	}
	return false
}

func startedBy(pid int, tree Tree) bool {
	for depth := 0; pid > 1 && pid != tree.PID; depth++ {
		f := statOf(pid)
		if len(f) < 2 || depth > 10_000 {
			return true // unknown: assume the worst
		}
		if hasMarker(pid) {
			return true
		}
		parent, err := strconv.Atoi(f[1])
		if err != nil || parent > 0 && parent == tree.PID || slices.Contains(tree.Roots, parent) {
			return true
		}
		pid = parent
	}
	return false
}

// findLauncher returns the name of the launcher from which a process descends, or "". Launchers
// start programs on request, and a process of Hob may have made the request. A launcher in Hob's
// own unit is exempt, because the user started both Hob and the launcher there.
func findLauncher(pid int, parents map[int]int) string {
	if unit := transientUnit(pid); unit != "" && unit != transientUnit(os.Getpid()) {
		return "the unit " + unit
	}
	for range parents {
		if pid <= 1 {
			return ""
		}
		name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)) // "" when it has ended
		switch n := strings.TrimSpace(string(name)); n {
		case "atd", "cron", "crond", "anacron", "fcron", "CRON":
			return n
		}
		pid = parents[pid]
	}
	return ""
}

// transientUnit returns the unit that systemd-run created for a process under a chosen name, or
// that Hob created for an application (platform/host/desktop/apps). It returns "" if there is none.
func transientUnit(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return ""
	}
	return unitIn(string(b))
}

func unitIn(cgroup string) string {
	for part := range strings.SplitSeq(strings.TrimSpace(cgroup), "/") {
		if (strings.HasPrefix(part, "run-") || strings.HasPrefix(part, "app-hob-")) && (strings.HasSuffix(part, ".service") || strings.HasSuffix(part, ".scope")) {
			return part
		}
	}
	return ""
}

func hasMarker(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && (bytes.HasPrefix(b, []byte(Marker+"=")) || bytes.Contains(b, []byte("\x00"+Marker+"=")))
}

// holdsSocket reports whether a process has a socket open. The thorough lookup calls it for every
// process. It reads links relative to the folder, so that the kernel resolves their path once.
func holdsSocket(pid int, inode string) bool {
	dir, err := openProc(pid, "fd", unix.O_DIRECTORY)
	if err != nil {
		return false
	}
	defer unix.Close(dir) //nolint:errcheck // closing loses no data
	want := "socket:[" + inode + "]"
	var entries [8192]byte
	var target [64]byte // longer targets are no sockets
	for {
		n, err := retryInterrupted(func() (int, error) { return unix.ReadDirent(dir, entries[:]) })
		if err != nil || n <= 0 {
			return false
		}
		_, _, names := unix.ParseDirent(entries[:n], -1, nil)
		for _, name := range names {
			n, err := retryInterrupted(func() (int, error) { return unix.Readlinkat(dir, name, target[:]) })
			if err == nil && string(target[:n]) == want {
				return true
			}
		}
	}
}

// openProc opens a file or folder of a process. os.Open makes several further system calls, and a
// lookup opens two for each process.
func openProc(pid int, name string, flags int) (int, error) {
	path := "/proc/" + strconv.Itoa(pid) + "/" + name
	return retryInterrupted(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|flags, 0) })
}

// retryInterrupted repeats a system call that a signal interrupted.
func retryInterrupted(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
