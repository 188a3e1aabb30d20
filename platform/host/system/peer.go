package system

import (
	"errors"
	"fmt"
	"net/netip"
)

// Marker is the environment variable of processes that Hob lets act on their own, such as
// external agents and commands. Their descendants inherit it, also if they leave their
// parent. It is no secret.
const Marker = "STARTED_BY_HOB"

// Client identifies the process behind a connection to a server of this process.
type Client uint8

// Kinds of clients. The zero value means unknown.
const (
	ClientUnknown  Client = iota
	ClientOwner           // a process of the same user that Hob did not start
	ClientHob             // a process that Hob started, or a descendant of one
	ClientStranger        // a process of another user
	ClientRemote          // on another machine
)

// Tree identifies the processes that belong to Hob.
type Tree struct {
	// PID is Hob's own process: its descendants belong to Hob, but not the process itself. 0
	// means none.
	PID int
	// Roots belong to Hob, with all their descendants.
	Roots []int
	// Spare is a process that Running ignores, together with its descendants from the same
	// program folder; its other descendants count. 0 means none.
	Spare int
}

// ClientOf identifies the process behind a TCP connection by its two addresses as the server
// sees them. Without thorough it only distinguishes the tree, other users and the rest, which
// takes about 0.1 ms if no process of the tree is involved. With thorough it finds the
// process itself, which requires a search of all processes of the user, and returns
// ClientUnknown if it finds none.
//
// It works on Linux, macOS and Windows; elsewhere the error wraps errors.ErrUnsupported. It
// does not find a process that deliberately hides its origin (a unit of the service manager,
// a keystroke sent to a terminal): see docs/approvals.md.
func ClientOf(client, server string, tree Tree, thorough bool) (Client, error) {
	from, err := netip.ParseAddrPort(client)
	if err != nil {
		return ClientUnknown, fmt.Errorf("find the process behind %s: %w", client, err)
	}
	to, err := netip.ParseAddrPort(server)
	if err != nil {
		return ClientUnknown, fmt.Errorf("find the process behind %s: its server: %w", client, err)
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

// errGone means that no local socket has the address. A client that has closed its end cannot be
// identified.
var errGone = errors.New("connection is closed")

func plainAddr(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// Running reports whether any process of a tree except its PID runs. If that is unknown, the
// error wraps errors.ErrUnsupported.
func Running(tree Tree) (bool, error) { return isTreeRunning(tree) }

// StartedByHob reports whether Hob started a process, usually this one: it carries the Marker, or one of
// its ancestors is the process daemon (0: none).
func StartedByHob(pid, daemon int) bool {
	var tree Tree
	if daemon > 0 {
		tree.PID = daemon
	}
	return startedBy(pid, tree)
}
