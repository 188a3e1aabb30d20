package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"hob/platform/retry"
)

// The watcher intervals. In the idle measurement, no watcher is due; under load, all watchers are
// due repeatedly.
const (
	restEvery = "24h"
	loadEvery = "10s"
)

// measureFeeds measures watched feeds: the memory per feed, and the processor time while no feed is
// due and while all feeds are polled repeatedly.
func measureFeeds(ctx context.Context, o Options, r benchRounds) ([]Figure, error) {
	f, err := newFeeds()
	if err != nil {
		return nil, err
	}
	defer f.stopServing(ctx)
	o.more = fmt.Sprintf("[network]\nallow = [%q]\n[watchers]\nmin_every = \"1s\"\n", f.addr)
	n := r.watchers
	var out []Figure
	figures, err := withHome(ctx, o, nil, func(h *home) ([]Figure, error) {
		few := n / 10 // the first watchers also create shared resources, so memory is measured after them
		if err := f.createWatchers(ctx, h, 0, few, restEvery); err != nil {
			return nil, err
		}
		before, _, err := h.measureAtRest(ctx, benchRounds{calm: r.calm})
		if errors.Is(err, errors.ErrUnsupported) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		threads, err := h.readMetric(ctx, "goroutines")
		if err != nil {
			return nil, err
		}
		if err := f.createWatchers(ctx, h, few, n, restEvery); err != nil {
			return nil, err
		}
		now, spent, err := h.measureAtRest(ctx, r)
		if err != nil {
			return nil, err
		}
		more, err := h.readMetric(ctx, "goroutines")
		if err != nil {
			return nil, err
		}
		return []Figure{
			{Name: "watcher_memory", Value: max(0, float64(now.privateBytes()-before.privateBytes())) / float64(n-few) / 1000, Unit: "KB", Target: 20, About: fmt.Sprintf("additional memory per idle watched feed, between %d and %d feeds", few, n)},
			{Name: "watcher_goroutines", Value: max(0, more-threads) / float64(n-few), Unit: "", Target: 1, About: "additional goroutines per watched feed"},
			{Name: "watchers_memory", Value: float64(now.rss) / 1e6, Unit: "MB", About: fmt.Sprintf("resident memory with %d watched feeds", n)},
			{Name: "watchers_idle_cpu", Value: 100 * spent.cpu.Seconds() / r.idle.Seconds(), Unit: "% of a core", About: fmt.Sprintf("over %s in which no feed is due", r.idle)},
		}, nil
	})
	if err != nil || figures == nil {
		return nil, err
	}
	out = append(out, figures...)
	figures, err = withHome(ctx, o, nil, func(h *home) ([]Figure, error) {
		if err := f.createWatchers(ctx, h, 0, n, loadEvery); err != nil {
			return nil, err
		}
		asked := f.asked.Load()
		now, spent, err := h.measureAtRest(ctx, r)
		if err != nil {
			return nil, err
		}
		polls := float64(f.asked.Load()-asked) / (r.calm + r.idle).Seconds()
		return []Figure{
			{Name: "watchers_load_memory", Value: float64(now.rss) / 1e6, Unit: "MB", About: fmt.Sprintf("resident memory while %d feeds are polled every %s", n, loadEvery)},
			{Name: "watchers_polls", Value: polls, Unit: "/s", AtLeast: true, About: "polls per second, one at a time because all feeds are on one server"},
			{Name: "watchers_poll_cpu", Value: 1000 * spent.cpu.Seconds() / r.idle.Seconds() / max(polls, 1), Unit: "ms", About: "processor time of a poll that finds nothing new"},
		}, nil
	})
	return append(out, figures...), err
}

// privateBytes returns the memory that is not mapped from the program file. If the system does not
// report it, privateBytes returns the resident memory.
func (u usage) privateBytes() int64 {
	if u.anon > 0 {
		return u.anon
	}
	return u.rss
}

// readMetric returns the value of the metric called name.
func (h *home) readMetric(ctx context.Context, name string) (float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.base+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+h.token)
	resp, err := h.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), " "); ok && key == "hob_"+name {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("the metrics do not contain %s", name)
}

// feedServer serves any number of feeds, each with 20 entries and an ETag.
type feedServer struct {
	*localServer
	asked atomic.Int64
	first atomic.Int64 // requests without a validator
}

func newFeeds() (f *feedServer, err error) {
	var body bytes.Buffer
	body.WriteString(`<rss version="2.0"><channel><title>News of the hearth</title>`)
	for n := range 20 {
		fmt.Fprintf(&body, `<item><guid>item-%d</guid><title>Something happened for the %dth time</title><description>%s</description></item>`, n, n, strings.Repeat("It was told at length. ", 10))
	}
	body.WriteString(`</channel></rss>`)
	f = &feedServer{}
	f.localServer, err = serveLocally(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.asked.Add(1)
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") == `"1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		f.first.Add(1)
		w.Header().Set("Content-Type", "application/rss+xml")
		_, _ = w.Write(body.Bytes()) // a client that disconnected needs no response
	}))
	return f, err
}

// createWatchers creates the watchers for a range of feeds and waits until each watcher has polled
// its feed once.
func (f *feedServer) createWatchers(ctx context.Context, h *home, from, to int, every string) error {
	before := f.first.Load()
	for i := from; i < to; i++ {
		config := map[string]any{"url": fmt.Sprintf("http://%s/feeds/%d.xml", f.addr, i), "every": every}
		if err := h.callTool(ctx, "create_watcher", map[string]any{"kind": "feed", "config": config}); err != nil {
			return err
		}
	}
	for end := time.Now().Add(eventWait); f.first.Load() < before+int64(to-from); {
		if time.Now().After(end) {
			return fmt.Errorf("only %d of %d feeds were read in %s", f.first.Load()-before, to-from, eventWait)
		}
		if err := retry.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return retry.Sleep(ctx, time.Second) // wait until the result of the last poll is stored
}
