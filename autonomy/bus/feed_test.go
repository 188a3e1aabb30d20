package bus_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"hob/autonomy/bus"
)

// readAvailable returns the available events without waiting.
func readAvailable(s *bus.Subscription) (out []bus.LiveEvent) {
	for {
		select {
		case e, ok := <-s.C():
			if !ok {
				return out
			}
			out = append(out, e)
		default:
			return out
		}
	}
}

func formatEvents(es []bus.LiveEvent) (out []string) {
	for _, e := range es {
		out = append(out, e.Type+string(e.Data))
	}
	return out
}

func TestFeed_ReachesAllReaders(t *testing.T) {
	f := newBus(t)
	a, b := f.Feed.Subscribe(0), f.Feed.Subscribe(0)
	f.Feed.Publish("status", "e", "s", 1)
	b.Close()
	b.Close()
	f.Feed.Publish("status", "e", "s", 2)
	f.Feed.Publish("status", "e", "s", make(chan int)) // cannot be encoded
	f.expectList("a", formatEvents(readAvailable(a)), "status1", "status2", "statusnull")
	f.expectList("b", formatEvents(readAvailable(b)), "status1")
	a.Close()
	f.Feed.Publish("status", "e", "s", 3)
	f.expectList("a, closed", formatEvents(readAvailable(a)))
}

func TestFeed_ReaderCatchesUp(t *testing.T) {
	f := newBus(t)
	first := f.Feed.Subscribe(0)
	defer first.Close()
	f.Feed.Publish("status", "e", "s", 1)
	f.Feed.Publish("content_delta", "e", "s", "x")
	f.Feed.Publish("status", "e", "s", 2)
	seen := readAvailable(first)
	for i := 1; i < len(seen); i++ {
		if seen[i].ID <= seen[i-1].ID {
			t.Errorf("ids do not grow: %d, then %d", seen[i-1].ID, seen[i].ID)
		}
	}
	again := f.Feed.Subscribe(seen[0].ID)
	defer again.Close()
	f.Feed.Publish("status", "e", "s", 3)
	f.expectList("again", formatEvents(readAvailable(again)), "status2", "status3")
	// An id of an earlier start of the daemon is an old one.
	old := seen[2].ID
	f.now = f.now.Add(1e9)
	f.restartBus()
	f.Feed.Publish("status", "e", "s", 4)
	after := f.Feed.Subscribe(old)
	defer after.Close()
	f.expectList("after a restart", formatEvents(readAvailable(after)), "status4")
	f.now = f.now.Add(-1e12)
	f.restartBus()
	f.Feed.Publish("status", "e", "s", 5)
	back := f.Feed.Subscribe(old)
	defer back.Close()
	f.expectList("after the clock was set back", formatEvents(readAvailable(back)), "status5")
}

func TestFeed_ReportsDroppedEvents(t *testing.T) {
	f := newBus(t)
	all := f.Feed.Subscribe(0)
	f.Feed.Publish("status", "e", "s", 0)
	id := readAvailable(all)[0].ID
	all.Close()
	const n = 2000
	for i := range n {
		f.Feed.Publish("status", "e", "s", i+1)
	}
	s := f.Feed.Subscribe(id)
	defer s.Close()
	got := readAvailable(s)
	if got[0].Type != "dropped" || got[0].ID <= id || got[0].ID >= got[1].ID {
		t.Fatalf("first event = %+v, want a report of dropped events", got[0])
	}
	var dropped int
	if _, err := fmt.Sscanf(string(got[0].Data), `{"dropped":%d}`, &dropped); err != nil || dropped+len(got)-1 != n {
		t.Errorf("%d dropped and %d kept of %d events, %v", dropped, len(got)-1, n, err)
	}
	if last := formatEvents(got[len(got)-1:])[0]; last != fmt.Sprint("status", n) {
		t.Errorf("last event = %s", last)
	}
	// A reader that continues after the "dropped" event misses no further events.
	s2 := f.Feed.Subscribe(got[0].ID)
	defer s2.Close()
	if next := readAvailable(s2); len(next) != len(got)-1 {
		t.Errorf("%d events after the first read, want %d", len(next), len(got)-1)
	}
}

func TestFeed_SlowReaderDelaysNoOther(t *testing.T) {
	f := newBus(t)
	slow := f.Feed.Subscribe(0)
	defer slow.Close()
	const n = 3000
	for i := range n {
		f.Feed.Publish("content_delta", "e", "s", i)
	}
	got := readAvailable(slow)
	f.Feed.Publish("status", "e", "s", "now")
	got = append(got, readAvailable(slow)...)
	dropped := uint64(n + 1 - (len(got) - 1))
	if d := got[len(got)-2]; d.Type != "dropped" || string(d.Data) != fmt.Sprintf(`{"dropped":%d}`, dropped) {
		t.Errorf("%s%s, want %d", d.Type, d.Data, dropped)
	}
	if f.Feed.Dropped() != dropped {
		t.Errorf("Dropped() = %d, want %d", f.Feed.Dropped(), dropped)
	}
	if last := got[len(got)-1]; last.Type != "status" || got[len(got)-2].ID >= last.ID {
		t.Errorf("last event = %+v, want a status", last)
	}
}

func TestFeed_ManyPublishersAndReaders(t *testing.T) {
	f := newBus(t)
	var wg sync.WaitGroup
	for p := range 4 {
		wg.Go(func() {
			for i := range 300 {
				f.Feed.Publish(strings.Repeat("x", p+1), "e", "s", i)
			}
		})
		wg.Go(func() {
			s := f.Feed.Subscribe(uint64(p))
			defer s.Close()
			var last uint64
			for range 100 {
				for _, e := range readAvailable(s) {
					if e.ID < last {
						t.Errorf("got id %d after %d", e.ID, last)
					}
					last = e.ID
				}
			}
		})
	}
	wg.Wait()
}
