package channels

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"hob/platform/failpoint"
	"hob/platform/retry"
	"hob/platform/store/lease"
)

const (
	maxFailures = 12             // maximum number of times that a reachable platform may reject one message
	maxAge      = 24 * time.Hour // maximum age of a message for an unreachable platform
	// maxOutage is the maximum duration of an outage that the platform reports.
	maxOutage  = 90 * time.Minute
	longPause  = time.Hour // maximum wait that a platform may request
	recordWait = 5 * time.Second
	// repeatedMark is the prefix for a message that may have arrived already.
	repeatedMark = "(possibly repeated) "
)

// deliverer sends the messages of one channel: one after the other in each chat, and up to parallel messages to
// different chats at the same time. Only the goroutine of runDeliveries uses the fields without a comment on
// concurrency that change.
type deliverer struct {
	name    string
	ch      Channel
	find    DeliveryFinder // nil if the platform cannot look up deliveries
	dedupes bool
	limit   int
	utf16   bool
	attach  bool  // whether the channel accepts files
	maxFile int64 // maximum size of a file
	out     Outbox
	drafts  Drafts
	log     *slog.Logger
	timeout time.Duration
	grace   time.Duration
	lease   *lease.Member
	sent    func()
	trouble func(error)
	held    func(time.Time) // reports the time until which the platform must not be called
	rate    rateWindow
	guests  rateWindow // the part of the rate limit reserved for guests
	empty   int        // number of consecutive claims that returned no rows

	parallel int
	running  int        // number of sends whose results were not read from ended yet
	ended    chan error // the results of the sends

	mu      sync.Mutex // guards the following fields
	paused  time.Time  // the platform must not be called before this time
	refused bool       // the platform rejected the secret, and the send that noticed it is about to end
	tries   map[string]*retryState
}

// retryState is the in-memory state of an undelivered message. Only the send of the message uses it.
type retryState struct {
	parts    []string
	of       int // number of text parts; an additional part reports files
	sent     int // number of parts that arrived
	first    Receipt
	ids      []string // platform ids of the parts that arrived
	unsure   bool     // whether the next part may have arrived
	failures int
	since    time.Time // time of the first failure
	// undrafted reports that the draft cannot be replaced, so the answer is sent as a separate
	// message.
	undrafted bool
	bare      bool // whether the platform rejected the files
}

func (m *Manager) newDeliverer(name string, ch Channel) *deliverer {
	d := &deliverer{
		name: name, ch: ch, out: m.opt.Outbox, log: m.opt.Log.With("channel", name),
		timeout: m.opt.SendTimeout, grace: m.opt.Grace, lease: m.opt.Lease,
		sent: func() { m.countSent(name) }, trouble: func(err error) { m.noteDeliveryError(name, err) },
		held:  func(at time.Time) { m.noteBackoff(name, at) },
		tries: map[string]*retryState{},
	}
	d.find, _ = ch.(DeliveryFinder)
	d.drafts = m.opt.Drafts
	_, d.dedupes = ch.(Deduper)
	_, d.attach = ch.(Attacher)
	lim := channelLimits(ch)
	d.limit, d.utf16, d.rate.n, d.maxFile = lim.MaxText, lim.UTF16, lim.PerMinute, lim.MaxFile
	d.parallel = max(1, lim.Parallel)
	if lim.PerMinute > 0 {
		d.guests.n = max(1, lim.PerMinute/2)
		d.parallel = 1 // the rate windows belong to one send
	}
	return d
}

// runDeliveries requeues deliveries that a crash interrupted and then delivers until ctx ends. A claim returns
// no message of a chat in which one is being sent, so each chat keeps its order. runDeliveries returns when all
// sends have ended. An error means that the channel cannot continue.
func (d *deliverer) runDeliveries(ctx context.Context) error {
	if err := d.requeueInFlight(ctx); err != nil {
		return err
	}
	d.running, d.ended, d.refused = 0, make(chan error, d.parallel), false
	var sends sync.WaitGroup
	defer sends.Wait()
	for {
		wake := d.out.Wake(d.name) // before rows are claimed, so that no wake-up is missed
		if !d.waitUntilReady(ctx) {
			return nil
		}
		if d.isRefused() { // claim nothing, not even the row that was just put back
			if err := d.noteEnds(<-d.ended); err != nil {
				return err
			}
			continue
		}
		rows, err := d.out.ClaimDeliveries(ctx, d.name, d.parallel-d.running)
		if err != nil {
			return fmt.Errorf("claim deliveries: %w", err)
		}
		for _, row := range rows {
			d.running++
			sends.Go(func() { d.ended <- recoverPanic(func() error { return d.deliverRow(ctx, row) }) })
		}
		if len(rows) > 0 {
			d.empty = 0
		}
		if again, err := d.waitForWork(ctx, wake); err != nil || !again {
			return err
		}
	}
}

// requeueInFlight requeues rows that were being sent when the process died. How they are resent
// depends on the capabilities of the platform.
func (d *deliverer) requeueInFlight(ctx context.Context) error {
	rows, err := d.out.InFlight(ctx, d.name)
	if err != nil {
		return fmt.Errorf("find interrupted deliveries: %w", err)
	}
	for _, row := range rows {
		t := d.retryStateOf(row.ID) // the state is known if only this goroutine was restarted
		unsure := !d.dedupes && (t == nil || t.unsure || t.sent > 0)
		if err := d.out.Retry(ctx, row.ID, time.Now(), "interrupted while it was being sent", unsure); err != nil {
			return fmt.Errorf("requeue an interrupted delivery: %w", err)
		}
	}
	return nil
}

func (d *deliverer) isRefused() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.refused
}

func (d *deliverer) retryStateOf(id string) *retryState {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.tries[id]
}

// waitUntilReady waits until the platform may be called again.
func (d *deliverer) waitUntilReady(ctx context.Context) bool {
	now := time.Now()
	d.mu.Lock()
	wait := d.paused.Sub(now)
	d.mu.Unlock()
	wait = max(wait, d.rate.waitTime(now))
	if wait > 0 {
		d.held(now.Add(wait))
	}
	return retry.Sleep(ctx, wait) == nil
}

// waitForWork waits until a send has ended, for a wake-up, or for the time at which the next row is due. It
// returns false if ctx has ended, and an error if a send found that the channel cannot continue.
func (d *deliverer) waitForWork(ctx context.Context, wake <-chan struct{}) (again bool, err error) {
	var due <-chan time.Time
	if d.running == d.parallel {
		wake = nil // nothing can be claimed before a send has ended
	} else {
		at, ok, err := d.out.NextDelivery(ctx, d.name)
		if err != nil {
			d.log.Warn("finding the next delivery failed", "error", err)
			at, ok = time.Now().Add(backoff().Delay(5)), true
		}
		if ok {
			// A due row that cannot be claimed must not cause a busy loop.
			t := time.NewTimer(max(time.Until(at), retry.Backoff{First: time.Millisecond, Max: time.Second}.Delay(d.empty+1)))
			defer t.Stop()
			due = t.C
		}
		d.empty++
	}
	select {
	case <-ctx.Done():
		return false, nil
	case err := <-d.ended:
		return true, d.noteEnds(err)
	case <-wake:
		d.empty = 0
	case <-due:
	}
	return true, nil
}

// noteEnds notes the end of a send and of all others that have ended by now, so that one claim fills all their
// places. It returns the first error.
func (d *deliverer) noteEnds(err error) error {
	for d.running--; ; d.running-- {
		select {
		case other := <-d.ended:
			err = cmp.Or(err, other)
		default:
			return err
		}
	}
}

// deliverRow sends one delivery. An error means that the channel cannot continue.
func (d *deliverer) deliverRow(ctx context.Context, row Delivery) (err error) {
	var left string
	if row.Files, left = d.splitFiles(row.Files); left != "" {
		row.Text = strings.TrimSpace(row.Text + "\n" + left)
	}
	t := d.retryStateOf(row.ID)
	if t == nil {
		t = &retryState{parts: d.splitText(row), unsure: row.MaybeRepeated && !d.dedupes}
		t.of = len(t.parts)
		d.mu.Lock()
		d.tries[row.ID] = t
		d.mu.Unlock()
	}
	if f, ok := parseDraftDelivery(row.Draft); ok {
		if row.Draft, err = d.findDraft(ctx, row, f); err != nil {
			return d.handleFailure(ctx, row, t, err)
		}
	}
	for t.sent < len(t.parts) {
		if now := time.Now(); row.Guest && d.guests.waitTime(now) > 0 {
			return d.putBack(ctx, row, t, now.Add(d.guests.waitTime(now)), "deferred: half of the messages per minute are reserved for your own chats")
		}
		if !d.waitUntilReady(ctx) {
			return d.putBack(ctx, row, t, time.Now(), "the daemon was stopped")
		}
		got, err := d.sendPart(ctx, row, t)
		if err != nil {
			return d.handleFailure(ctx, row, t, err)
		}
		if t.sent == 0 {
			t.first = got
		}
		if got.ID != "" {
			t.ids = append(t.ids, got.ID)
		}
		t.sent++
		t.unsure = false
	}
	r := t.first
	if len(t.ids) > 1 {
		r.Parts = t.ids
	}
	err = d.recordOutcome(ctx, "delivered", func(ctx context.Context) error { return d.out.Delivered(ctx, row.ID, r) })
	if err == nil {
		d.forgetTries(row.ID)
		d.sent()
	}
	return err
}

func (d *deliverer) forgetTries(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.tries, id)
}

// findDraft finds the draft of an answer whose message id was never confirmed. It returns "" if
// there is no draft or the platform cannot look it up.
func (d *deliverer) findDraft(ctx context.Context, row, first Delivery) (id string, err error) {
	if d.find == nil {
		return "", nil
	}
	first.Channel, first.Chat = row.Channel, row.Chat
	r, err := d.callChannel(ctx, nil, func(ctx context.Context) (Receipt, error) {
		r, found, err := d.find.Find(ctx, first)
		if err != nil || !found {
			return Receipt{}, err
		}
		return r, nil
	})
	switch c := ClassOf(err); {
	case err != nil && (c == Permanent || c == Unsupported):
		return "", nil // then the answer is sent as a separate message
	case err != nil:
		return "", fmt.Errorf("find the draft of an answer: %w", err)
	}
	if d.drafts != nil {
		if err := d.drafts.KeepDraft(ctx, row.Event, row.Channel, row.Chat, r.ID); err != nil {
			d.log.Warn("storing the draft of an answer failed", "error", err)
		}
	}
	return r.ID, nil
}

// splitFiles returns the files that the channel accepts, and a note about the others: files that no
// longer exist, and files that were queued when the channel accepted more.
func (d *deliverer) splitFiles(files []Attachment) (along []Attachment, left string) {
	var not []Attachment
	for _, f := range files {
		if _, err := os.Stat(f.Path); d.attach && f.Size <= d.maxFile && err == nil {
			along = append(along, f)
		} else {
			not = append(not, f)
		}
	}
	return along, unsentFilesNote(not)
}

// unsentFilesNote returns the note about files that are not sent.
func unsentFilesNote(files []Attachment) string {
	var out []string
	for _, f := range files {
		out = append(out, fmt.Sprintf("(The file %s, %s, could not be sent.)", f.Name, formatSize(f.Size)))
	}
	return strings.Join(out, "\n")
}

// splitText splits a message into parts that leave room for the prefix of repeated messages.
func (d *deliverer) splitText(row Delivery) []string {
	limit := d.limit
	text := strings.ToValidUTF8(row.Text, "\uFFFD")
	if row.Kind == Question {
		return splitQuestion(text, Limits{MaxText: limit, UTF16: d.utf16})
	}
	mark := utf8.RuneCountInString(repeatedMark)
	if limit > 4*mark && d.find == nil && !d.dedupes && Length(text, Limits{UTF16: d.utf16}) > limit-mark {
		limit -= mark
	}
	return SplitFor(text, Limits{MaxText: limit, UTF16: d.utf16})
}

// sendPart sends the next part of a message, or detects that it has already arrived.
func (d *deliverer) sendPart(ctx context.Context, row Delivery, t *retryState) (Receipt, error) {
	p := row
	p.Text, p.MaybeRepeated = t.parts[t.sent], t.unsure
	switch {
	case t.sent >= t.of:
		p.ID += ".files"
	case t.of > 1:
		p.ID = fmt.Sprintf("%s.%d", row.ID, t.sent+1)
	}
	if t.sent > 0 || t.undrafted {
		p.Draft = ""
	}
	if p.Draft != "" { // replacing the message is safe to repeat
		p.MaybeRepeated = false
	}
	if t.sent != t.of-1 || t.bare {
		p.Files = nil
	}
	r, err := d.callChannel(ctx, p.Files, func(ctx context.Context) (Receipt, error) {
		if t.unsure && d.find != nil && p.Draft == "" {
			switch r, found, err := d.find.Find(ctx, p); {
			case err != nil:
				return r, fmt.Errorf("check whether the message arrived: %w", err)
			case found:
				return r, nil
			}
			p.MaybeRepeated = false
		}
		if p.MaybeRepeated {
			p.Text = repeatedMark + p.Text
		}
		d.rate.addEvent(time.Now())
		if row.Guest {
			d.guests.addEvent(time.Now())
		}
		if err := d.lease.Check(); err != nil { // another instance may send this message by now
			return Receipt{}, err
		}
		failpoint.Hit("channel.send.before")
		r, err := d.ch.Send(ctx, p)
		failpoint.Hit("channel.send.after")
		return r, err
	})
	if c := ClassOf(err); err != nil && p.Draft != "" && (c == Permanent || c == Unsupported) {
		// The draft no longer exists or cannot be edited.
		d.log.Info("answer sent as a separate message", "delivery", row.ID, "error", err)
		t.undrafted = true
		return d.sendPart(ctx, row, t)
	}
	if c := ClassOf(err); err != nil && len(p.Files) > 0 && (c == Permanent || c == Unsupported) {
		d.log.Warn("files rejected; text sent without them", "delivery", row.ID, "error", err)
		t.bare, t.parts = true, append(t.parts, unsentFilesNote(p.Files))
		return d.sendPart(ctx, row, t)
	}
	if err != nil && maybeSent(err) && p.Draft == "" {
		t.unsure = !d.dedupes
	}
	return r, err
}

// slowest is the minimum transfer rate in bytes per second.
const slowest = 128 << 10

// TransferTimeout returns the timeout of a request with this many bytes: 30 s, plus time for a
// large file. The context of the request may end earlier.
func TransferTimeout(bytes int64) time.Duration {
	return 30*time.Second + time.Duration(min(max(bytes, 0), 1<<30)/slowest)*time.Second
}

// callChannel runs f with the deadline of a Send, which is longer for large files. When the daemon
// stops, f may continue during the grace period.
func (d *deliverer) callChannel(ctx context.Context, files []Attachment, f func(context.Context) (Receipt, error)) (r Receipt, err error) {
	wait := d.timeout
	for _, a := range files {
		wait += time.Duration(a.Size/slowest) * time.Second
	}
	c, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait)
	defer cancel()
	done := make(chan struct{})
	defer close(done)
	stop := context.AfterFunc(ctx, func() {
		t := time.NewTimer(d.grace)
		defer t.Stop()
		select {
		case <-t.C:
			cancel()
		case <-done:
		}
	})
	defer stop()
	err = recoverPanic(func() error {
		r, err = f(c)
		return err
	})
	return r, err
}
