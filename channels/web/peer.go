package web

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// Peer is the kind of process behind a connection.
type Peer uint8

// The kinds of peers. The zero value is unknown.
const (
	PeerUnknown Peer = iota
	PeerOwner        // the owner's program, or a program on another machine
	PeerHob          // a program started by Hob, which never acts for the owner
	PeerOther        // a program of another user on this machine
)

// connKey is the context key of a request's connection.
type connKey struct{}

// connection caches the peer of a connection, because finding the peer is slow. The process does
// not change during a connection.
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

// requestPeer returns which kind of process sent the request. If thorough is set, it identifies the
// process; otherwise it only checks that Hob did not start the process. If fresh is set, it ignores
// the cache.
func (s *Server) requestPeer(r *http.Request, thorough, fresh bool) Peer {
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

// refuseUntrustedPeer rejects a request from a process that must not act for the owner, regardless of its
// credentials. Routes that decide for the owner also reject unidentified processes.
func (s *Server) refuseUntrustedPeer(r *http.Request, grave bool) error {
	switch s.requestPeer(r, grave, grave) {
	case PeerHob:
		s.log.Warn("rejected a request from a program started by Hob", "path", r.URL.Path)
		return newFailure(http.StatusForbidden, "not_the_owner", "answer from your own terminal or browser", "programs started by Hob cannot act for you")
	case PeerOther:
		s.log.Warn("rejected a request from another user's program", "path", r.URL.Path)
		return newFailure(http.StatusForbidden, "not_the_owner", "use the account under which Hob runs", "programs of other users on this machine cannot act for you")
	case PeerUnknown:
		if !grave {
			return nil
		}
		s.log.Warn("rejected a request from an unknown program", "path", r.URL.Path)
		return newFailure(http.StatusForbidden, "unknown_client", "use hob in your own terminal or a paired chat", "the requesting program cannot be identified, and only you may do this")
	}
	return nil
}
