package system

import (
	"errors"
	"fmt"
	"net/netip"
)

// Marker is an environment variable that is set for processes that Hob lets act on their own, such
// as external agents and commands. Their descendants inherit it, even if they leave their parent.
// It is not a secret.
const Marker = "STARTED_BY_HOB"

// Client is the kind of process behind a connection to a server of this process.
type Client uint8

// Kinds of clients. The zero value means unknown.
const (
	ClientUnknown  Client = iota
	ClientOwner           // a process of the same user that Hob did not start
	ClientHob             // a process that Hob started, or a descendant of such a process
	ClientStranger        // a process of another user
	ClientRemote          // a process on another machine
)

// Tree specifies the processes that belong to Hob.
type Tree struct {
	// PID is Hob's own process. Its descendants belong to the tree, but the process itself does
	// not. 0 means none.
	PID int
	// Roots are processes that belong to the tree with all their descendants.
	Roots []int
	// Spare is a process that Running ignores, together with its descendants from the same program
	// folder. Its other descendants are not ignored. 0 means none.
	Spare int
}

// ClientOf identifies the process behind a TCP connection, given the two addresses of the
// connection as the server sees them. If thorough is not set, it only distinguishes the tree, other
// users and all other processes, which takes about 0.1 ms if no process of the tree is involved. If
// thorough is set, it finds the process itself, for which it must search all processes of the user,
// and returns ClientUnknown if it finds none.
//
// It works on Linux, macOS and Windows. On other systems the error wraps errors.ErrUnsupported. It
// does not find a process that deliberately hides its origin (a unit of the service manager, a
// keystroke sent to a terminal); see docs/approvals.md.
func ClientOf(client, server string, tree Tree, thorough bool) (Client, error) {
	from, err := netip.ParseAddrPort(client)
	if err != nil {
		return ClientUnknown, fmt.Errorf("find the process behind %s: %w", client, err)
	}
	to, err := netip.ParseAddrPort(server)
	if err != nil {
		return ClientUnknown, fmt.Errorf("find the process behind %s: server address: %w", client, err)
	}
	c, err := clientOf(plainAddr(from), plainAddr(to), tree, thorough)
	if errors.Is(err, errGone) && !from.Addr().Unmap().IsLoopback() {
		return ClientRemote, nil // not a socket of this machine
	}
	if err != nil {
		return ClientUnknown, fmt.Errorf("find the process behind %s: %w", client, err)
	}
	return c, nil
}

// errGone means that no local socket has these two addresses. A client that has closed its end
// cannot be identified.
var errGone = errors.New("connection is closed")

func plainAddr(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// Running reports whether a process of the tree other than PID is running. If this is unknown, the
// error wraps errors.ErrUnsupported.
func Running(tree Tree) (bool, error) { return isTreeRunning(tree) }

// StartedByHob reports whether Hob started a process, usually this one: the process has the Marker,
// or one of its ancestors is the process daemon (0 means none).
func StartedByHob(pid, daemon int) bool {
	var tree Tree
	if daemon > 0 {
		tree.PID = daemon
	}
	return startedBy(pid, tree)
}
