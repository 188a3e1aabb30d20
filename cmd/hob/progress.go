package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// progress is the progress of a tool; see channels/web.FeedEvent.
type progress struct {
	Seconds int    `json:"seconds"`
	Percent *int   `json:"percent"`
	Note    string `json:"note"`
}

// statusLine formats the progress: "read page: 45 s, 30 %, page 3".
func (p progress) statusLine(tool string) string {
	s := fmt.Sprintf("%s: %d s", strings.ReplaceAll(sanitizePrintable(tool), "_", " "), p.Seconds)
	if p.Percent != nil {
		s += fmt.Sprintf(", %d %%", *p.Percent)
	}
	if p.Note != "" {
		s += ", " + oneLine(sanitizePrintable(p.Note))
	}
	return s
}

// watchProgress shows, on a terminal alone, which tool of the session is taking its
// time. The caller calls stop, which wipes the line away.
func (a *cli) watchProgress(ctx context.Context, c *client, session string) (stop func()) {
	if _, tty := terminalFD(a.err); !tty || a.asJSON {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		shown := false
		for e, err := range c.streamEvents(ctx, "GET", "/api/v1/events", "", nil) {
			if err != nil {
				break
			}
			if line, ok := progressOf(e, session); ok {
				shown = true
				fmt.Fprint(a.err, controlSequence(a.err, clearLine)+a.colorize(a.err, dim, "… "+line))
			}
		}
		if shown {
			fmt.Fprint(a.err, controlSequence(a.err, clearLine))
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

// progressOf reads one event of the live feed.
func progressOf(e serverEvent, session string) (line string, ok bool) {
	var f struct {
		Session string `json:"session"`
		Data    struct {
			Name string `json:"name"`
			progress
		} `json:"data"`
	}
	if e.name != "tool_progress" || json.Unmarshal(e.data, &f) != nil || f.Session != session {
		return "", false
	}
	return f.Data.statusLine(f.Data.Name), true
}
