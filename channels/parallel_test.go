package channels_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/channels"
	"hob/channels/channelstest"
)

// slowSends is a channel that needs 1 s for each message. It records when each send began.
type slowSends struct {
	channelstest.Fake
	began time.Time
	fails map[string]error // by text

	mu    sync.Mutex
	sends []string
}

func (s *slowSends) Send(ctx context.Context, d channels.Delivery) (channels.Receipt, error) {
	s.mu.Lock()
	s.sends = append(s.sends, fmt.Sprintf("%s %s", time.Since(s.began), d.Text))
	s.mu.Unlock()
	if err := s.fails[d.Text]; err != nil {
		return channels.Receipt{}, err
	}
	time.Sleep(time.Second)
	return s.Fake.Send(ctx, d)
}

func (s *slowSends) listSends() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.sends)) // sends that begin together have no order
}

func TestManager_SendsToSeveralChatsAtTheSameTime(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit channels.Limits
		want  []string
	}{
		{"up to the limit of the channel, in order within a chat", channels.Limits{Parallel: 3}, []string{"0s a1", "0s b1", "0s c1", "1s a2", "1s d1"}},
		{"one at a time without such a limit", channels.Limits{}, []string{"0s a1", "1s a2", "2s b1", "3s c1", "4s d1"}},
		{"one at a time with a limit per minute", channels.Limits{Parallel: 3, PerMinute: 100}, []string{"0s a1", "1s a2", "2s b1", "3s c1", "4s d1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &slowSends{Fake: channelstest.Fake{Limit: c.limit}, began: time.Now()}
				out := channelstest.NewOutbox()
				for _, text := range []string{"a1", "a2", "b1", "c1", "d1"} {
					out.Put(newDelivery("x", text[:1], text))
				}
				h := startManager(t, out, map[string]channels.Channel{"x": f}, channels.Options{})
				time.Sleep(time.Minute)
				synctest.Wait()
				if d := cmp.Diff(c.want, f.listSends()); d != "" {
					t.Error(d)
				}
				for _, r := range out.Rows() {
					if r.State != channels.Sent || r.Attempts != 1 {
						t.Errorf("%s: state %s after %d attempts, want sent after 1", r.Text, r.State, r.Attempts)
					}
				}
				h.stopManager(t)
			})
		})
	}
}

func TestManager_EndsSendsInProgressWhenTheChannelStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &slowSends{
			Fake:  channelstest.Fake{Limit: channels.Limits{Parallel: 2}},
			fails: map[string]error{"b1": channels.Errorf(channels.Unauthorized, "bad token")},
		}
		out := channelstest.NewOutbox()
		a, b := out.Put(newDelivery("x", "a", "a1")), out.Put(newDelivery("x", "b", "b1"))
		h := startManager(t, out, map[string]channels.Channel{"x": f}, channels.Options{})
		time.Sleep(time.Minute)
		synctest.Wait()
		if r := out.Row(a); r.State != channels.Sent || r.Attempts != 1 {
			t.Errorf("the message that was being sent: state %s after %d attempts, want sent after 1", r.State, r.Attempts)
		}
		if r := out.Row(b); r.State != channels.Failed || h.Status()[0].State != "stopped" {
			t.Errorf("the rejected message: state %s, channel %s; want failed, stopped", r.State, h.Status()[0].State)
		}
		h.stopManager(t)
	})
}
