// Package mcp makes the tools of other people's MCP servers ([mcp.servers.NAME]) available as
// foreign tools called NAME__TOOL. It supports the revisions 2026-07-28 and 2025-11-25 over
// standard input and output and over streamable HTTP.
//
// A server is hostile until proven otherwise. Its descriptions and results are untrusted text of
// bounded size, its annotations are ignored, and a tool whose definition changed is held back until
// the user trusts the new definition. Programs run in the sandbox with only the configured
// environment variables. Servers can neither use a model (sampling) nor list folders (roots).
//
// A server may ask the user a question during a call (elicitation). The call then ends with the
// error InputRequired, and answer_question continues it after the user's approval. In revision
// 2025-11-25 the server waits for a limited time; after that Hob repeats the call and gives the
// answer only if the server asks the same question again. In revision 2026-07-28 the question is a
// result, and Hob sends the answer together with the server's state (SEP-2322).
//
// The manager starts a server when a call first needs it. The catalog contains the tools that the
// server offered earlier, so Hob can start before any server runs.
package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/config"
	"hob/platform/host/command"
	"hob/platform/host/system"
	"hob/platform/net/safehttp"
	"hob/platform/retry"
	"hob/platform/store"
	"hob/tools"
)

// Options holds the options of Open. All are required unless their comment says otherwise.
type Options struct {
	Store   *store.Store
	Catalog *tools.Catalog
	// Started is the configuration at Hob's start. Config returns the current configuration.
	Started *config.Config
	Config  func() *config.Config
	// Off disables all servers.
	Off bool
	// Secret resolves a reference to a secret. It returns other values unchanged.
	Secret func(ctx context.Context, ref string) (string, error)
	// Keychain stores the tokens of logins. Redact hides texts in all output.
	Keychain system.Secrets
	Redact   func(texts ...string)
	// Network reaches the servers with a URL.
	Network *safehttp.Client
	// Runner starts the programs. If it is nil, no program starts.
	Runner *command.Runner
	// Dir is the folder that contains a working folder for each program.
	Dir string
	// KeepPicture stores a picture of a result and returns its path.
	KeepPicture func(name string, data []byte) (string, error)
	// Watched reports whether a watcher watches a topic, and Changed announces a change of the
	// topic (see package watchers). If Watched is nil, no resource is watched.
	Watched func(topic string) bool
	Changed func(topic string)
	Version string
	Log     *slog.Logger
}

// Manager connects to the servers. It implements api.MCP. Its methods may be called concurrently.
type Manager struct {
	opt  Options
	life context.Context //nolint:containedctx // the lifetime of all connections
	end  context.CancelFunc
	// questionKey is the secret key from which the ids of questions are computed.
	questionKey []byte
	work        sync.WaitGroup

	mu      sync.Mutex
	servers []*server // in the order of the configuration file
	closed  bool
}

// Migrations returns the tables of this package.
func Migrations() []store.MigrationSet { return []store.MigrationSet{pinTable()} }

// Open adds the known tools of the configured servers to the catalog. It starts no server.
func Open(ctx context.Context, opt Options) (*Manager, error) {
	m := &Manager{opt: opt, questionKey: make([]byte, questionKeySize)}
	_, _ = rand.Read(m.questionKey) // never fails
	m.life, m.end = context.WithCancel(context.WithoutCancel(ctx))
	if err := m.followConfig(ctx, opt.Started); err != nil {
		m.end()
		return nil, err
	}
	return m, nil
}

// followConfig applies changes of the configuration: it adds new servers, and stops servers that
// were changed or removed.
func (m *Manager) followConfig(ctx context.Context, c *config.Config) error {
	var want []config.MCPServer
	if !m.opt.Off {
		want = c.MCPServers()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return errors.New("mcp: the manager is closed")
	}
	var next, ended []*server
	for _, c := range want {
		i := slices.IndexFunc(m.servers, func(s *server) bool { return s.cfg.Name == c.Name })
		if i >= 0 && reflect.DeepEqual(m.servers[i].cfg, c) {
			next = append(next, m.servers[i])
			continue
		}
		next = append(next, newServer(m, c))
	}
	for _, s := range m.servers {
		if !slices.Contains(next, s) {
			ended = append(ended, s)
		}
	}
	for _, s := range ended {
		if err := m.opt.Catalog.SetForeign(s.sourceName(), nil); err != nil {
			return err
		}
		s.stopServer(errors.New("the configuration changed"))
		s.renewSubscriptions(announceDelay, func(*subscription) bool { return true })
	}
	added := slices.DeleteFunc(slices.Clone(next), func(s *server) bool { return slices.Contains(m.servers, s) })
	if len(added) > 0 {
		pins, err := m.readPins(ctx)
		if err != nil {
			return fmt.Errorf("mcp: read the known tools: %w", err)
		}
		for _, s := range added {
			if p := pins[s.cfg.Name]; p != nil {
				s.pins = p
				s.publishTools()
			}
		}
	}
	m.servers = next
	return nil
}

// currentServers returns the servers after applying changes of the configuration.
func (m *Manager) currentServers(ctx context.Context) ([]*server, error) {
	if err := m.followConfig(ctx, m.opt.Config()); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.servers), nil
}

// findServer returns the server called name.
func (m *Manager) findServer(ctx context.Context, name string) (*server, error) {
	list, err := m.currentServers(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		if s.cfg.Name == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("MCP server %q: %w; list the servers with: hob mcp list", name, api.ErrNotFound)
}

// Limits of Run.
const (
	atOnce     = 2 // servers that Run connects to at the same time
	firstSight = 200 * time.Millisecond
)

// Run connects once to each server whose tools are unknown, so that models can find the tools. It
// ends all connections when ctx ends.
func (m *Manager) Run(ctx context.Context) error {
	defer func() { _ = m.Close() }()
	if retry.Sleep(ctx, firstSight) != nil { // wait after the start of Hob
		return nil
	}
	list, err := m.currentServers(ctx)
	if err != nil {
		m.opt.Log.Error("MCP servers not loaded", "err", err)
	}
	slots := make(chan struct{}, atOnce)
	var wait sync.WaitGroup
	for _, s := range list {
		if !s.cfg.Enabled || s.isKnown() {
			continue
		}
		wait.Go(func() {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			defer func() { <-slots }()
			if _, err := s.connectServer(ctx); err != nil && ctx.Err() == nil {
				m.opt.Log.Warn("MCP server not connected", "server", s.cfg.Name, "err", err)
			}
		})
	}
	<-ctx.Done()
	wait.Wait()
	return nil
}

// Close ends all connections and returns when all programs have ended. It returns nil.
func (m *Manager) Close() error {
	m.mu.Lock()
	m.closed = true
	list := m.servers
	m.mu.Unlock()
	m.end()
	for _, s := range list {
		s.stopServer(errors.New("Hob is stopping")) //nolint:staticcheck // Hob is a name
	}
	m.work.Wait()
	return nil
}
