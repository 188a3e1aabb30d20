package web

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// Peer is who is behind a connection.
type Peer uint8

// The peers. The zero value may be anybody.
const (
	PeerUnknown Peer = iota
	PeerOwner        // a program of the owner's own, or another machine
	PeerHob          // Hob has started it: it never speaks for the owner
	PeerOther        // a program of another user of this machine
)

// connKey is the context key of the connection a request came on.
type connKey struct{}

// connection remembers who is behind one, since finding out takes a while. What
// a process is does not change while it keeps a connection.
type connection struct {
	conn net.Conn

	mu       sync.Mutex
	asked    bool
	who      Peer
	thorough bool
}

func withConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, &connection{conn: c})
}

// peer is who sent the request. thorough finds the process itself, where
// otherwise it is enough that it is none of those that Hob has started; fresh
// looks again.
func (s *Server) peer(r *http.Request, thorough, fresh bool) Peer {
	if s.opt.Peer == nil || r.RemoteAddr == inProcess {
		return PeerOwner
	}
	server := s.Addr()
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		server = a.String()
	}
	c, ok := r.Context().Value(connKey{}).(*connection)
	if !ok {
		return s.opt.Peer(r.RemoteAddr, server, thorough)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if fresh || !c.asked || thorough && !c.thorough {
		c.who = s.opt.Peer(r.RemoteAddr, server, thorough)
		c.asked, c.thorough = true, thorough
	}
	return c.who
}

// known refuses a request that comes from what must not speak for the owner,
// whatever it has to show. Those that decide for the owner are refused as well
// when nobody can tell where they come from.
func (s *Server) known(r *http.Request, grave bool) error {
	switch s.peer(r, grave, grave) {
	case PeerHob:
		s.log.Warn("rejected a request from a program started by Hob", "path", r.URL.Path)
		return fail(http.StatusForbidden, "not_the_owner", "answer from your own terminal or browser", "programs started by Hob cannot act for you")
	case PeerOther:
		s.log.Warn("rejected a request from another user's program", "path", r.URL.Path)
		return fail(http.StatusForbidden, "not_the_owner", "use the account under which Hob runs", "programs of other users on this machine cannot act for you")
	case PeerUnknown:
		if !grave {
			return nil
		}
		s.log.Warn("rejected a request from an unknown program", "path", r.URL.Path)
		return fail(http.StatusForbidden, "unknown_client", "use hob in your own terminal or a paired chat", "the requesting program cannot be identified, and only you may do this")
	}
	return nil
}
