package bus

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// keepLive is the maximum number of events buffered for readers that reconnect. At least half of
// that number is kept.
const keepLive = 512

// LiveEvent is one event in the live feed. Its ID increases, even across restarts of the daemon.
type LiveEvent struct {
	ID      uint64          `json:"id"`
	Type    string          `json:"type"`
	Event   string          `json:"event,omitempty"`
	Session string          `json:"session,omitempty"`
	At      time.Time       `json:"at"`
	Data    json.RawMessage `json:"data"`
}

// Feed notifies user interfaces of events in real time. It never blocks: a slow reader loses events
// and receives the number of lost events.
type Feed struct {
	now func() time.Time

	mu   sync.Mutex
	last uint64
	ring []LiveEvent
	cut  uint64 // id of the newest event that is no longer buffered
	gone uint64 // number of events that are no longer buffered
	subs map[*Subscription]struct{}
	fine int // number of subscribers that read deltas
	lost uint64
}

// newFeed creates a feed whose first id is the current time in units of 1/1024 ms, so that ids from
// an earlier start are smaller. JavaScript can represent such numbers exactly.
func newFeed(now func() time.Time) *Feed {
	return &Feed{now: now, last: uint64(now().UnixMilli()) << 10, subs: map[*Subscription]struct{}{}}
}

// Subscription is one reader of the feed.
type Subscription struct {
	feed    *Feed
	c       chan LiveEvent
	coarse  bool // whether the reader gets no deltas
	dropped uint64
}

// C returns a channel that delivers events in order until Close.
func (s *Subscription) C() <-chan LiveEvent { return s.c }

// Close ends the subscription.
func (s *Subscription) Close() {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	if _, ok := s.feed.subs[s]; ok {
		delete(s.feed.subs, s)
		if !s.coarse {
			s.feed.fine--
		}
		close(s.c)
	}
}

// Subscribe opens the feed. If after > 0, it begins with the buffered events after that id,
// preceded by a "dropped" event if some of them are no longer buffered.
func (f *Feed) Subscribe(after uint64) *Subscription {
	s := &Subscription{feed: f, c: make(chan LiveEvent, 256+keepLive)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if after > f.last { // the clock was set back before this start
		after = 1
	}
	if after > 0 {
		if after < f.cut {
			s.c <- f.droppedEvent(f.cut, min(f.gone, f.cut-after))
		}
		for _, e := range f.ring {
			if e.ID > after {
				s.c <- e
			}
		}
	}
	f.subs[s] = struct{}{}
	f.fine++
	return s
}

// Follow opens the feed from now on, without the deltas of answers. It is for readers that only
// need to know about changes.
func (f *Feed) Follow() *Subscription {
	s := &Subscription{feed: f, c: make(chan LiveEvent, 16), coarse: true}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subs[s] = struct{}{}
	return s
}

// Publish sends an event to every reader. It encodes data only if there is a reader or the
// event is buffered.
func (f *Feed) Publish(typ, event, session string, data any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	delta := typ == "content_delta" || typ == "tool_call_delta"
	if delta && f.fine == 0 {
		return
	}
	raw, err := json.Marshal(data)
	if err != nil {
		raw = []byte("null")
	}
	e := LiveEvent{ID: f.last, Type: typ, Event: event, Session: session, At: f.now(), Data: raw}
	if !delta {
		if len(f.ring) >= keepLive {
			f.cut, f.gone = f.ring[keepLive/2-1].ID, f.gone+keepLive/2
			f.ring = append(f.ring[:0], f.ring[keepLive/2:]...)
		}
		f.ring = append(f.ring, e)
	}
	for s := range f.subs {
		if !delta || !s.coarse {
			s.enqueueEvent(e)
		}
	}
}

// enqueueEvent queues an event for the reader. It reserves one slot for the notice that events were
// dropped.
func (s *Subscription) enqueueEvent(e LiveEvent) {
	if len(s.c) >= cap(s.c)-1 {
		s.dropped++
		s.feed.lost++
		return
	}
	if s.dropped > 0 {
		s.c <- s.feed.droppedEvent(e.ID-1, s.dropped)
		s.dropped = 0
		if len(s.c) >= cap(s.c)-1 {
			s.dropped++
			s.feed.lost++
			return
		}
	}
	s.c <- e
}

// droppedEvent returns an event that reports that the reader has missed n events up to this id.
func (f *Feed) droppedEvent(id, n uint64) LiveEvent {
	return LiveEvent{ID: id, Type: "dropped", At: f.now(), Data: json.RawMessage(fmt.Sprintf(`{"dropped":%d}`, n))}
}

// Dropped returns how many events slow readers have lost since the start.
func (f *Feed) Dropped() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lost
}
