package watchers

import (
	"container/heap"
	"context"
	"time"
)

// announceGap is the shortest time between two polls that announcements cause for one watcher. It
// limits the cost of a server that announces changes endlessly.
const announceGap = 10 * time.Second

// TopicPolled is a Polled whose source announces changes of a topic. Announcements only make polls
// earlier. An announcement may get lost, so the watcher is also polled at its interval.
type TopicPolled interface {
	Polled
	// Topic names the source, such as a resource of a server.
	Topic() string
}

// Resources reads the resources of MCP servers. Its methods may be called concurrently.
type Resources interface {
	// CheckServer returns an error if no server of this name is configured. It does no I/O.
	CheckServer(name string) error
	// WatchResource reads a resource. If the server can announce changes of the resource, it
	// subscribes, so that Manager.AnnounceChange is called with ResourceTopic while a watcher has
	// this topic. If the server is paused after a failure, it returns a LaterError.
	WatchResource(ctx context.Context, server, uri string) (Resource, error)
}

// Resource is the content of a resource.
type Resource struct {
	Text   string // at most MaxResourceText bytes of valid UTF-8; binary data is replaced by a description
	Size   int    // size of the complete content, in bytes
	Digest string // digest of the complete content
}

// MaxResourceText is the maximum size of Resource.Text, in bytes.
const MaxResourceText = 200 << 10

// ResourceTopic returns the topic of a resource of an MCP server.
func ResourceTopic(server, uri string) string { return "mcp:" + server + " " + uri }

// HasTopic reports whether an active watcher has the topic.
func (m *Manager) HasTopic(topic string) bool {
	p := m.currentPoller()
	return p != nil && p.countTopic(topic, func(*pollEntry) {}) > 0
}

// AnnounceChange makes the watchers with the topic poll soon.
func (m *Manager) AnnounceChange(topic string) {
	p := m.currentPoller()
	if p == nil {
		return
	}
	now := time.Now().Round(0)
	if p.countTopic(topic, func(e *pollEntry) { p.hastenPoll(e, now) }) > 0 {
		p.wakePoller()
	}
}

// currentPoller returns the poller of the current Run, or nil.
func (m *Manager) currentPoller() *poller {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.poller
}

// countTopic calls each for the watchers with the topic, while it holds p.mu, and returns their
// number.
func (p *poller) countTopic(topic string, each func(e *pollEntry)) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.byID {
		if e.topic == topic {
			each(e)
			n++
		}
	}
	return n
}

// hastenPoll schedules an earlier poll. A poll in progress may have missed the change, so another
// poll follows. The caller holds p.mu.
func (p *poller) hastenPoll(e *pollEntry, now time.Time) {
	due := laterOf(now, e.began.Add(announceGap))
	switch {
	case p.busy[e.id]:
		e.repeat = true
	case e.index >= 0 && due.Before(e.due):
		e.due = due
		heap.Fix(&p.heap, e.index)
	}
}
