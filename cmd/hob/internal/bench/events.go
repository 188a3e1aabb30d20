package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"hob/platform/retry"
	"hob/platform/text/sorting"
)

// measureMessages measures message throughput without waiting for the answers.
func measureMessages(ctx context.Context, o Options, r benchRounds) ([]Figure, error) {
	const conversations = 50
	return withHome(ctx, o, nil, func(h *home) ([]Figure, error) {
		began := time.Now()
		ids := make([]string, r.events)
		err := runParallel(ctx, sessions, func(ctx context.Context, n int) (err error) {
			for i := n; i < len(ids) && err == nil; i += sessions {
				ids[i], err = h.sendMessage(ctx, fmt.Sprintf("load-%d", i%conversations), "what time is it?")
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		taken := time.Since(began)
		said, err := h.waitDeliveries(ctx, "", "reply", r.events)
		if err != nil {
			return nil, err
		}
		for _, id := range []string{ids[0], ids[len(ids)-1]} {
			if err := h.waitFinished(ctx, id); err != nil {
				return nil, err
			}
		}
		n := float64(r.events)
		return []Figure{
			{Name: "messages_taken", Value: n / taken.Seconds(), Unit: "/s", AtLeast: true, About: fmt.Sprintf("messages made durable, %d senders", sessions)},
			{Name: "messages_answered", Value: n / said[len(said)-1].Sub(began).Seconds(), Unit: "/s", AtLeast: true, About: fmt.Sprintf("the same, answered by the built-in brain in %d conversations", conversations)},
		}, nil
	})
}

// fileEvents measures the delay and the throughput of notifications about new files.
func fileEvents(ctx context.Context, o Options, r benchRounds) ([]Figure, error) {
	return withHome(ctx, o, nil, func(h *home) ([]Figure, error) {
		if err := h.setUpWatchers(ctx); err != nil {
			return nil, err
		}
		if err := retry.Sleep(ctx, time.Second); err != nil { // wait until the watchers have started
			return nil, err
		}
		var took []time.Duration
		for i := range max(3, r.starts/2) {
			began := time.Now()
			if err := writeSmallFile(h.watchedFolder(i), "new.pdf"); err != nil {
				return nil, err
			}
			said, err := h.waitDeliveries(ctx, "bench", "notice", i+1)
			if err != nil {
				return nil, err
			}
			took = append(took, said[i].Sub(began))
		}
		slices.Sort(took)
		began := time.Now()
		for i := range r.events {
			if err := writeSmallFile(h.watchedFolder(i%folders), fmt.Sprintf("burst-%d.pdf", i)); err != nil {
				return nil, err
			}
		}
		said, err := h.waitDeliveries(ctx, "bench", "notice", len(took)+r.events)
		if err != nil {
			return nil, err
		}
		return []Figure{
			{Name: "file_event_p50", Value: milliseconds(percentileAt(took, 50)), Unit: "ms", About: "from the creation of a file to the notification, including 500 ms to see whether it is complete"},
			{Name: "file_events", Value: float64(r.events) / said[len(said)-1].Sub(began).Seconds(), Unit: "/s", AtLeast: true, About: fmt.Sprintf("files created at the same time in %d folders, until the last notification", folders)},
		}, nil
	})
}

// errTooBusy is returned if the reminders were created after they were due.
var errTooBusy = errors.New("the machine is too busy")

// scheduleEvents measures how punctually and how fast Hob handles reminders that are all due at the
// same time. On a busy machine it tries again with more time to create them.
func scheduleEvents(ctx context.Context, o Options, r benchRounds) (out []Figure, err error) {
	lead := time.Second + time.Duration(r.events/4)*10*time.Millisecond
	for range 4 {
		if out, err = remindersDueTogether(ctx, o, r.events/4, lead); !errors.Is(err, errTooBusy) {
			return out, err
		}
		lead *= 3
	}
	return out, err
}

func remindersDueTogether(ctx context.Context, o Options, n int, lead time.Duration) ([]Figure, error) {
	return withHome(ctx, o, nil, func(h *home) ([]Figure, error) {
		due := time.Now().Add(lead).Truncate(time.Second).Add(time.Second)
		for i := range n {
			if err := h.callTool(ctx, "create_reminder", map[string]any{"at": due.UTC().Format(time.RFC3339), "text": fmt.Sprintf("thing %d", i)}); err != nil {
				return nil, err
			}
		}
		if late := time.Since(due); late > 0 {
			return nil, fmt.Errorf("%w: the reminders were created %s too late", errTooBusy, late)
		}
		if err := retry.Sleep(ctx, time.Until(due)); err != nil {
			return nil, err
		}
		said, err := h.waitDeliveries(ctx, "bench", "notice", n)
		if err != nil {
			return nil, err
		}
		return []Figure{
			{Name: "reminder_late", Value: milliseconds(said[0].Sub(due)), Unit: "ms", About: fmt.Sprintf("delay of the first of %d reminders due at the same time", n)},
			{Name: "schedule_events", Value: float64(n) / said[n-1].Sub(due).Seconds(), Unit: "/s", AtLeast: true, About: "reminders due at the same time, until the last notification"},
		}, nil
	})
}

// waitDeliveries waits until n messages of the given kind were sent in a session, or in any session
// if session is empty. It returns their sorted times. The times are recorded by Hob, so polling
// here does not affect them.
func (h *home) waitDeliveries(ctx context.Context, session, kind string, n int) ([]time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, eventWait)
	defer cancel()
	q := url.Values{"limit": {fmt.Sprint(n + 1)}, "state": {"sent"}}
	if session != "" {
		q.Set("session", session)
	}
	for {
		var rows []struct {
			Kind   string
			SentAt time.Time `json:"sent_at"`
		}
		if err := h.doRequest(ctx, http.MethodGet, "/api/v1/deliveries?"+q.Encode(), nil, &rows); err != nil {
			return nil, err
		}
		var out []time.Time
		for _, r := range rows {
			if r.Kind == kind {
				out = append(out, r.SentAt)
			}
		}
		if len(out) >= n {
			sorting.ByFunc(out, time.Time.Compare)
			return out[:n], nil
		}
		if err := retry.Sleep(ctx, 20*time.Millisecond+time.Duration(n)*100*time.Microsecond); err != nil {
			return nil, fmt.Errorf("%d of %d messages were sent: %w", len(out), n, err)
		}
	}
}
