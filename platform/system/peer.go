package system

import (
	"errors"
	"fmt"
	"net/netip"
)

// Marker is the variable in the environment of processes that Hob lets act by
// themselves, such as external agents and commands: their descendants carry it
// on, also those that leave their parent. It holds no secret.
const Marker = "STARTED_BY_HOB"

// Client is who is behind a connection to a server of this process.
type Client uint8

// The clients. The zero value may be anybody.
const (
	ClientUnknown  Client = iota
	ClientOwner           // a process of the same user, which Hob did not start
	ClientHob             // Hob has started it, or something that it has started
	ClientStranger        // a process of another user
	ClientRemote          // on another machine
)

// Tree names the processes that belong to Hob.
type Tree struct {
	// PID is Hob's own process: what lies below it belongs to Hob, it itself does
	// not count. 0 is none.
	PID int
	// Roots belong to Hob with all that lies below them.
	Roots []int
	// Spare is a process that Running leaves out, 0: none. So it does with what lies
	// below it, as long as that are programs of the same folder: what it has started of
	// others counts.
	Spare int
}

// ClientOf finds out who is behind a TCP connection, named by its two addresses
// as the server sees them. Without thorough it only tells apart what belongs to
// the tree, other users and the rest, which takes some 0.1 ms when nothing does;
// with it, it finds the process itself, which takes as long as looking through
// all processes of the user, and answers ClientUnknown when it finds none.
//
// It is there on Linux, macOS and Windows; elsewhere the error wraps
// errors.ErrUnsupported. A process that does all it can to hide its origin (a
// unit of the service manager, a keystroke sent to a terminal) is not found:
// see docs/approvals.md.
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
		return ClientRemote, nil // no socket of this machine
	}
	if err != nil {
		return ClientUnknown, fmt.Errorf("find the process behind %s: %w", client, err)
	}
	return c, nil
}

// errGone: no socket of this machine has the address. A client that has closed
// its end may be anybody.
var errGone = errors.New("the connection has gone")

func plainAddr(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// Running reports whether anything of a tree runs besides its PID. Where nobody can
// tell, the error wraps errors.ErrUnsupported.
func Running(tree Tree) (bool, error) { return running(tree) }

// StartedByHob reports whether a process, usually this one, was started by Hob:
// it carries the Marker, or one of its ancestors is the process daemon (0: none).
func StartedByHob(pid, daemon int) bool {
	var tree Tree
	if daemon > 0 {
		tree.PID = daemon
	}
	return startedBy(pid, tree)
}
