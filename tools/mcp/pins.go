package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"hob/autonomy/api"
	"hob/platform/store"
	"hob/platform/store/erase"
)

// Limits of a server's tool declarations.
const (
	maxTools       = 256      // tools of one server
	maxDescription = 4 << 10  // bytes of a description
	maxSchema      = 64 << 10 // bytes of a schema
)

// toolSpec is a server's declaration of a tool. It omits the annotations, which Hob ignores.
type toolSpec struct {
	Kind        string          `json:"kind,omitempty"` // set for a tool that Hob adds
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema"` // schema with sorted keys
	Output      json.RawMessage `json:"output,omitempty"`
}

// specDigest identifies the declaration.
func (s toolSpec) specDigest() string {
	b, err := json.Marshal(s)
	if err != nil { // the schemas were encoded before
		panic(err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// pin is the declaration of a tool that the user trusts: the first one that Hob saw, or the one
// accepted with `hob mcp trust`.
type pin struct {
	spec toolSpec
	next *toolSpec // a different declaration that is held back
	gone bool      // the server no longer offers the tool
}

func pinTable() store.MigrationSet {
	return store.MigrationSet{Owner: "mcp", Steps: []string{`
CREATE TABLE mcp_tools (
	server TEXT NOT NULL, tool TEXT NOT NULL,
	digest TEXT NOT NULL, spec TEXT NOT NULL, -- trusted
	new_spec TEXT NOT NULL DEFAULT '',        -- held back
	gone INTEGER NOT NULL DEFAULT 0, seen_at INTEGER NOT NULL,
	PRIMARY KEY (server, tool)) WITHOUT ROWID;`}}
}

// Eraser returns the eraser of the table, which contains only the servers' declarations of tools.
func Eraser() erase.Eraser { return erase.Owned{Besides: []string{"mcp_tools"}} }

// readPins reads the pins of all servers, keyed by server and tool.
func (m *Manager) readPins(ctx context.Context) (map[string]map[string]*pin, error) {
	rows, err := m.opt.Store.Read().QueryContext(ctx, `SELECT server, tool, spec, new_spec, gone FROM mcp_tools`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string]map[string]*pin{}
	for rows.Next() {
		var server, name, spec, next string
		p := &pin{}
		if err := rows.Scan(&server, &name, &spec, &next, &p.gone); err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(spec), &p.spec); err != nil {
			return nil, err
		}
		if next != "" {
			p.next = &toolSpec{}
			if err := json.Unmarshal([]byte(next), p.next); err != nil {
				return nil, err
			}
		}
		if out[server] == nil {
			out[server] = map[string]*pin{}
		}
		out[server][name] = p
	}
	return out, rows.Err()
}

// maxPins limits the stored tools of one server. Removed tools count too, because otherwise a server
// could remove a tool and offer a changed version as new.
const maxPins = 2 * maxTools

// refuseTool records why a tool cannot be used.
func (s *server) refuseTool(name, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused == nil {
		s.refused = map[string]string{}
	}
	s.refused[name] = why
}

// recordTools compares the currently offered tools with the pins and stores the result.
func (s *server) recordTools(ctx context.Context, list []toolSpec) error {
	s.mu.Lock()
	next := map[string]*pin{}
	for name, p := range s.pins {
		q := *p
		q.gone = true
		next[name] = &q
	}
	s.mu.Unlock()
	for _, spec := range list {
		p := next[spec.Name]
		if p == nil && len(next) >= maxPins {
			s.refuseTool(spec.Name, fmt.Sprintf("the server has offered more than %d different tools", maxPins))
			continue
		}
		if p == nil {
			next[spec.Name] = &pin{spec: spec}
			continue
		}
		p.gone, p.next = false, nil
		if p.spec.specDigest() != spec.specDigest() {
			p.next = &spec
		}
	}
	return s.storePins(ctx, next)
}

// trustTools accepts the held declarations with the given digests. If one of them is
// missing, because the server changed the tool again, it accepts none.
func (s *server) trustTools(ctx context.Context, digests []string) error {
	s.mu.Lock()
	next, found := map[string]*pin{}, map[string]bool{}
	for name, p := range s.pins {
		q := *p
		if q.next != nil && slices.Contains(digests, q.next.specDigest()) {
			found[q.next.specDigest()] = true
			q.spec, q.next = *q.next, nil
		}
		next[name] = &q
	}
	s.mu.Unlock()
	for _, d := range digests {
		if !found[d] {
			return fmt.Errorf("%w: the server %s changed its tools again, so no change was accepted; compare the tools with: hob mcp tools %s", api.ErrConflict, s.cfg.Name, s.cfg.Name)
		}
	}
	return s.storePins(ctx, next)
}

// storePins writes the pins that changed, and then uses them.
func (s *server) storePins(ctx context.Context, next map[string]*pin) error {
	err := s.m.opt.Store.Write(ctx, func(tx *store.Tx) error {
		for name, p := range next {
			spec, err := json.Marshal(p.spec)
			if err != nil {
				return err
			}
			held := []byte{}
			if p.next != nil {
				if held, err = json.Marshal(p.next); err != nil {
					return err
				}
			}
			if _, err := tx.Exec(`INSERT INTO mcp_tools (server, tool, digest, spec, new_spec, gone, seen_at) VALUES (?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT (server, tool) DO UPDATE SET digest = excluded.digest, spec = excluded.spec, new_spec = excluded.new_spec, gone = excluded.gone
				WHERE mcp_tools.digest <> excluded.digest OR mcp_tools.new_spec <> excluded.new_spec OR mcp_tools.gone <> excluded.gone`,
				s.cfg.Name, name, p.spec.specDigest(), string(spec), string(held), p.gone, store.Millis(time.Now())); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.pins = next
	s.mu.Unlock()
	s.publishTools()
	return nil
}
