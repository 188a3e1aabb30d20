package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/channels/terminal/chatui"
	"hob/channels/web/apiclient"
	"hob/platform/host/system"
	"hob/platform/retry"
)

// Limits for reconnecting to the live feed.
const (
	feedPause = 200 * time.Millisecond
	feedMax   = 5 * time.Second
)

// followFeed shows the messages that Hob sends unprompted, until ctx ends. It calls connected once,
// when the feed is open or has failed.
func (ch *chat) followFeed(ctx context.Context, connected func()) {
	defer connected()
	last, fails, away := "", 1, false
	pauses := retry.Backoff{First: feedPause, Max: feedMax}
	for {
		c := ch.daemonClient()
		for e, err := range c.Follow(ctx, last) {
			if err != nil {
				break
			}
			connected()
			if e.Type == apiclient.EventOpen {
				ch.changeStatus(func(s *chatui.Status) { s.Offline = false })
				ch.requestStatus()
			}
			if away {
				ch.screen.Note(chatui.Hint, "Hob is running again.")
				ch.catchUp(ctx)
			}
			fails, away = 1, false
			if e.ID != "" {
				last = e.ID
			}
			ch.showLiveEvent(ctx, e)
		}
		connected()
		if ctx.Err() == nil && c.finish == nil {
			ch.changeStatus(func(s *chatui.Status) { s.Offline = true })
		}
		if retry.Sleep(ctx, pauses.Delay(fails)) != nil {
			return
		}
		crashed := ch.hasCrashed(c)
		if crashed && !ch.noStart && !away {
			away = true
			ch.screen.Note(chatui.Warning, "Hob has stopped unexpectedly. Starting it again.")
		}
		if fails++; pauses.Delay(fails) > time.Second && !away {
			away = true
			ch.screen.Note(chatui.Warning, ch.stoppedText())
		}
		if err := ch.replaceClient(ctx, c, crashed); err != nil && crashed && !ch.noStart && ctx.Err() == nil {
			ch.screen.Note(chatui.Failure, "Hob cannot be started: "+err.Error())
		}
	}
}

// showLiveEvent shows one event of the feed.
func (ch *chat) showLiveEvent(ctx context.Context, e apiclient.LiveEvent) {
	if e.Type == "delivery" {
		ch.showDelivery(ctx, e.Delivery)
	}
}

// showDelivery shows a message that is not the answer to a message of this chat.
func (ch *chat) showDelivery(ctx context.Context, d api.Delivery) {
	ch.mu.Lock()
	known := ch.told[d.ID] || (ch.mine[d.Event] && d.Kind != "status")
	ch.told[d.ID] = true
	ch.mu.Unlock()
	if known || !ch.isForThisChat(d) {
		return
	}
	if d.Kind == "question" && ch.askDelivered(ctx, d) {
		ch.reportShown(ctx, d.ID)
		ch.saveLastSeen(d.CreatedAt)
		return
	}
	text := sanitizePrintable(strings.TrimSpace(d.Text))
	if d.Session != ch.session {
		text = "[" + sanitizePrintable(d.Session) + "] " + text
	}
	ch.screen.Note(chatui.Notice, text)
	if d.Kind == "question" {
		ch.reportShown(ctx, d.ID)
	}
	ch.saveLastSeen(d.CreatedAt)
}

// askDelivered shows the approval requests of a question, and reports whether there are any. If they
// cannot be loaded, the text of the question is shown instead.
func (ch *chat) askDelivered(ctx context.Context, d api.Delivery) bool {
	return d.Event != "" && ch.askPending(ctx, api.Query{State: "pending"}, d.Event) > 0
}

// askPending shows the pending approval requests that a query finds, of one event if event is not "".
// It returns their number.
func (ch *chat) askPending(ctx context.Context, query api.Query, event string) (n int) {
	ctx, cancel := context.WithTimeout(ctx, shownTimeout)
	defer cancel()
	pending, err := ch.daemonClient().Approvals(ctx, query)
	if err != nil && event == "" && ctx.Err() == nil {
		ch.screen.Note(chatui.Failure, "Cannot load the pending approval requests: "+err.Error())
	}
	for _, q := range slices.Backward(pending) {
		if event == "" || q.Event == event {
			n++
			ch.askApproval(q)
		}
	}
	return n
}

// reportShown tells Hob that this terminal displays an approval request, so that "yes" can refer to
// that request.
func (ch *chat) reportShown(ctx context.Context, delivery string) {
	ch.turns.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, shownTimeout)
		defer cancel()
		if err := ch.daemonClient().ReportShown(ctx, delivery); err != nil && ctx.Err() == nil {
			ch.screen.Note(chatui.Hint, "\"yes\" does not answer this request here: "+err.Error())
		}
	})
}

// shownTimeout is the timeout for reporting that a question is displayed.
const shownTimeout = 5 * time.Second

// isForThisChat reports whether a message is shown in this chat: notifications and approval
// requests that name no other channel, and the status of this conversation.
func (ch *chat) isForThisChat(d api.Delivery) bool {
	if d.Channel != "terminal" && d.Channel != "web" {
		return false
	}
	switch d.Kind {
	case "notice", "question":
		return true
	case "status":
		return d.Session == ch.session
	}
	return false
}

// Limits for the earlier notices that are shown when a chat starts: their number and their age.
const (
	catchUpMost  = 10
	catchUpHours = 24 * time.Hour
)

// catchUp shows the notices that arrived while no chat was open.
func (ch *chat) catchUp(ctx context.Context) {
	since := time.Now().Add(-catchUpHours)
	if b, err := os.ReadFile(ch.seenFile()); err == nil {
		if t, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(string(b))); err == nil {
			since = t
		}
	}
	all, err := ch.daemonClient().Deliveries(ctx, api.Query{Limit: 100})
	if err != nil {
		if ctx.Err() == nil {
			ch.screen.Note(chatui.Failure, "Cannot load the messages you missed: "+err.Error())
		}
		return
	}
	missed := slices.DeleteFunc(all, func(d api.Delivery) bool {
		return d.Kind != "notice" || !d.CreatedAt.After(since) || !ch.isForThisChat(d)
	})
	if len(missed) > catchUpMost {
		missed = missed[:catchUpMost] // the newest notices come first
	}
	for _, d := range slices.Backward(missed) {
		ch.showDelivery(ctx, d)
	}
	if len(missed) == 0 {
		ch.saveLastSeen(time.Now())
	}
}

// seenFile returns the path of the file with the time of the last notice that a chat has shown.
func (ch *chat) seenFile() string { return filepath.Join(ch.paths.Data, "chat.seen") }

func (ch *chat) saveLastSeen(t time.Time) {
	if err := system.WriteFile(ch.seenFile(), []byte(t.UTC().Format(time.RFC3339Nano)+"\n")); err != nil {
		ch.screen.Note(chatui.Failure, "Cannot save your read position: "+err.Error())
	}
}

// daemonClient returns the client of the newest daemon that this chat has found.
func (ch *chat) daemonClient() *client {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	return ch.client
}

// hasCrashed reports whether the daemon of a client has ended without an orderly stop.
func (ch *chat) hasCrashed(c *client) bool {
	h, crashed, err := system.Abandoned(ch.paths.LockFile())
	return err == nil && crashed && h.Role == system.RoleDaemon && c.finish == nil
}

// stoppedText returns the message after an orderly stop, which says how Hob starts again.
func (ch *chat) stoppedText() string {
	if ch.noStart {
		return "Hob does not answer; it may have been stopped. Start it with: hob start"
	}
	return "Hob was stopped. Your next message starts it again."
}

// replaceClient replaces the client of a daemon that does not answer, unless the client was already
// replaced. If no daemon runs and start is set, it starts one.
func (ch *chat) replaceClient(ctx context.Context, lost *client, start bool) error {
	ch.connecting.Lock()
	defer ch.connecting.Unlock()
	if lost.finish != nil || ch.daemonClient() != lost {
		return nil
	}
	c, running, err := ch.app.dialDaemon(ctx, ch.paths)
	switch {
	case err != nil:
		return err
	case !running && (ch.noStart || !start):
		return notRunning()
	case !running:
		if _, err = ch.app.startInBackground(ctx); err != nil {
			return err
		}
		if c, err = ch.app.connectDaemon(ctx); err != nil {
			return err
		}
	}
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.client = c
	return nil
}
