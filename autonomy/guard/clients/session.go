package clients

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"time"

	"hob/platform/text/sorting"
)

// Access gives the external agent of a running turn access to the turn's tools. It gives no access
// to approvals or to the rest of the API.
type Access struct {
	// Tools lists the tools.
	Tools func() []OfferedTool
	// Call runs one tool in the turn. It waits while the user is asked. An error means that the
	// turn is over.
	Call func(ctx context.Context, tool string, args json.RawMessage) (Reply, error)
}

// OfferedTool describes a tool.
type OfferedTool struct {
	Name, Description string
	Schema            json.RawMessage
}

// Reply is the outcome of a call. Code is "" if it succeeded.
type Reply struct{ Text, Code string }

// agentSession is the token for the external agent of a conversation. The agent gets it once, when
// its own session starts, so it stays the same for all turns.
type agentSession struct {
	client Client
	token  string
	hash   [sha256.Size]byte
	access *Access // nil while no turn runs
	used   int64   // number of the last turn, for freeIdleSessions
}

// maxIdleSessions is the number of sessions without a turn whose token is kept. It is far above the
// number of agents that stay alive between turns (see package acp).
const maxIdleSessions = 100

// freeIdleSessions removes the sessions whose last turn is the longest ago. Their agents get a new
// token when they start again. The caller must hold s.mu.
func (s *Store) freeIdleSessions() {
	var idle []*agentSession
	for _, x := range s.sessions {
		if x.access == nil {
			idle = append(idle, x)
		}
	}
	sorting.ByFunc(idle, func(a, b *agentSession) int { return cmp.Compare(b.used, a.used) })
	for _, x := range idle[min(len(idle), maxIdleSessions):] {
		delete(s.sessions, x.client.Name)
	}
}

// Attach makes the token for the agent of a session valid until detach is called.
func (s *Store) Attach(session string, a Access) (token string, detach func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.sessions[session]
	if x == nil {
		x = &agentSession{client: Client{ID: newID(), Kind: Session, Name: session, CreatedAt: time.Now()}}
		x.token, x.hash = newToken()
		s.sessions[session] = x
	}
	s.turns++
	x.access, x.used = &a, s.turns
	s.freeIdleSessions()
	return x.token, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if x.access == &a {
			x.access = nil
		}
	}
}

// authenticateSession returns the client with a token for which a turn is running.
func (s *Store) authenticateSession(hash [sha256.Size]byte) (Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.sessions {
		if subtle.ConstantTimeCompare(hash[:], x.hash[:]) == 1 && x.access != nil {
			return x.client, nil
		}
	}
	return Client{}, ErrUnknownToken
}

// SessionAccess returns the Access of a running turn's agent. It returns false after the turn.
func (s *Store) SessionAccess(c Client) (Access, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.sessions[c.Name]
	if c.Kind != Session || x == nil || x.client.ID != c.ID || x.access == nil {
		return Access{}, false
	}
	return *x.access, true
}
