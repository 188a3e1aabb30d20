package main

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"hob/channels/web/apiclient"
)

// progressLine formats the progress of a tool: "read page: 45 s, 30 %, page 3".
func progressLine(tool string, p apiclient.Progress) string {
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
		for e, err := range c.Follow(ctx, "") {
			if err != nil {
				break
			}
			if e.Type == "tool_progress" && e.Session == session {
				shown = true
				fmt.Fprint(a.err, controlSequence(a.err, clearLine)+a.colorize(a.err, dim, "… "+progressLine(e.Tool, e.Progress)))
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
