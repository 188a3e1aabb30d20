package autonomy

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"hob/autonomy/bus"
	"hob/autonomy/intake/chattext"
	"hob/autonomy/notify"
	"hob/autonomy/payload"
	"hob/autonomy/turn"
	"hob/channels"
	"hob/platform/failpoint"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/watchers"
)

// MaxText is the maximum size of a message in bytes.
const MaxText = 10 << 20

// Errors of Receive; nothing was accepted. They are channels.ErrUnfit.
const (
	ErrTooLong rejectedError = "the message is longer than 10 MB; send it as a file"
	ErrNotText rejectedError = "the message is not valid UTF-8; send it as UTF-8 text"
	ErrEmpty   rejectedError = "the message is empty"
	ErrMixed   rejectedError = "a command or an answer cannot contain pasted, piped or file text; send it alone"
)

type rejectedError string

// Error implements error.
func (u rejectedError) Error() string { return string(u) }

// Is makes it a channels.ErrUnfit.
func (rejectedError) Is(target error) bool { return target == channels.ErrUnfit }

// startDueTurns claims due events and starts a turn for each. It returns when the next waiting
// event becomes due.
func (l *Loop) startDueTurns(ctx, work context.Context, woke string) time.Time {
	l.looks.Add(1)
	due := l.enqueueDue(ctx)
	events, next, err := l.o.Bus.Claim(ctx, l.freeSlots())
	next = earlierTime(next, due)
	if err != nil {
		if ctx.Err() == nil {
			l.o.Log.Error("cannot claim events; trying again", "err", err)
			return time.Now().Add(time.Second)
		}
		return next
	}
	failpoint.Hit("loop.claimed")
	tick := ""
	if len(events) > 0 {
		tick = bus.NewID()
		l.inputs.Add(1)
	}
	turns := make([]*activeTurn, len(events))
	l.mu.Lock()
	for i, ev := range events { // register all before the first one begins
		turns[i] = &activeTurn{ev: ev, tick: tick, woke: woke, since: time.Now(), done: make(chan struct{})}
		l.running[ev.ID] = turns[i]
	}
	for _, t := range turns {
		ev := t.ev
		tctx, cancel := context.WithCancelCause(work)
		t.cancel = cancel
		l.open.Go(func() {
			defer cancel(nil)
			l.processEvent(tctx, t)
			l.mu.Lock()
			if l.running[ev.ID] == t { // it may have been suspended, answered and claimed again
				delete(l.running, ev.ID)
			}
			l.mu.Unlock()
			close(t.done)
			select {
			case l.freed <- struct{}{}:
			default:
			}
		})
	}
	l.mu.Unlock()
	return next
}

// freeSlots returns the number of free slots. Commands need none, nor do turns that wait for an
// answer, up to a limit.
func (l *Loop) freeSlots() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, held := l.o.Slots, 0
	for _, t := range l.running {
		switch {
		case t.ev.Lane != t.ev.Session:
		case t.held > 0 && held < l.o.Slots:
			held++
		default:
			n--
		}
	}
	return max(0, n)
}

// holdFunc returns a function that calls hold for the turn of an event.
func (l *Loop) holdFunc(event string) func() (release func()) {
	return func() func() {
		l.mu.Lock()
		t := l.running[event]
		l.mu.Unlock()
		if t == nil {
			return func() {}
		}
		return l.holdTurn(t)
	}
}

// holdTurn marks a turn that waits for the owner in memory; release removes the mark. Another turn
// may use its slot meanwhile.
func (l *Loop) holdTurn(t *activeTurn) (release func()) {
	l.mu.Lock()
	t.held++
	if l.draining {
		t.cancel(turn.ErrDraining)
	}
	l.mu.Unlock()
	select {
	case l.freed <- struct{}{}:
	default:
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		t.held--
	}
}

// Receive implements channels.Receiver: the message is durable when it returns.
func (l *Loop) Receive(ctx context.Context, in channels.Inbound) (channels.Accepted, error) {
	switch {
	case !utf8.ValidString(in.Text):
		return channels.Accepted{}, ErrNotText
	case len(in.Text) > MaxText:
		return channels.Accepted{}, ErrTooLong
	case strings.TrimSpace(in.Text) == "" && len(in.Images) == 0 && len(in.OutsideFrom) == 0:
		return channels.Accepted{}, ErrEmpty
	case len(in.OutsideFrom) > 0 && chattext.MayDecide(in.Text):
		return channels.Accepted{}, ErrMixed
	}
	ev, err := l.newMessageEvent(ctx, in)
	if err != nil {
		return channels.Accepted{}, err
	}
	if err := l.dropUnknownSender(ctx, in, ev); err != nil {
		return channels.Accepted{}, l.rejectMessage(ctx, ev, err)
	}
	now := time.Now()
	over, tell, until := l.guests.countMessage(ev, now)
	if over && !tell {
		l.o.Log.Info("a message was dropped, since its sender has written too many", "channel", ev.Channel, "sender", ev.Sender)
		return channels.Accepted{}, l.rejectMessage(ctx, ev, ErrTooMany)
	}
	msg, heard := watcherMessage(ev)
	msg.Ignored = tell
	settle := debounceDelay(ev, in)
	if tell {
		settle = 0
		ev.Payload = mustJSON(payload.Message{Until: until})
	}
	var acc channels.Accepted
	defer func() {
		if err != nil || acc.Repeated {
			l.guests.giveBack(ev, now)
		}
	}()
	err = l.o.Store.Write(ctx, func(tx *store.Tx) error {
		if err := l.inTurn(tx, &ev); err != nil {
			return err
		}
		if acc, err = l.o.Bus.CoalesceTx(tx, ev, settle, mergeMessages); err != nil {
			return err
		}
		if heard && l.o.Ears != nil && !acc.Repeated {
			if err := l.dispatchToWatchers(tx, msg); err != nil {
				return err
			}
		}
		if acc.Repeated || acc.Position == 0 {
			return nil
		}
		return l.notifyQueuePosition(tx, ev, acc.Position)
	})
	if err != nil {
		err = fmt.Errorf("take message: %w", err)
		return channels.Accepted{}, err
	}
	return acc, nil
}

// inTurn puts "/new" behind a message that still waits for a next one, which belongs to
// the conversation that is about to end.
func (l *Loop) inTurn(tx *store.Tx, ev *bus.Event) error {
	if !isResetCommand(*ev) {
		return nil
	}
	waiting, err := l.o.Bus.FlushDebounceTx(tx, ev.Session)
	if len(waiting) > 0 {
		ev.Lane = ev.Session
	}
	return err
}

// Known implements channels.DuplicateChecker.
func (l *Loop) Known(ctx context.Context, in channels.Inbound) (channels.Accepted, bool, error) {
	event, err := l.o.Bus.FindCoalesced(ctx, in.Channel, in.Key)
	if err == nil && event == "" && !in.FromOwner && l.guests.isOverLimit(in.Channel, in.Sender, time.Now()) {
		err = ErrTooMany
	}
	return channels.Accepted{Event: event, Repeated: event != ""}, event != "", err
}

// newMessageEvent makes the inbox row of a message.
func (l *Loop) newMessageEvent(ctx context.Context, in channels.Inbound) (bus.Event, error) {
	if in.Session == "" {
		in.Session = in.Conversation(l.o.SharedGroups)
	}
	shared := in.Group
	if in.Client = cmp.Or(in.Client, noClient); l.o.Pushes(in.Channel) {
		in.Client = ""
	}
	// Answer a conversation of another channel on that channel: "telegram:42", or
	// "telegram:42:ada" in a group. Only its row distinguishes the two forms.
	if name, chat, ok := strings.Cut(in.Session, ":"); ok && name != in.Channel && l.o.Pushes(name) {
		info, known, err := l.o.Sessions.Get(ctx, in.Session)
		if err != nil {
			return bus.Event{}, err
		}
		shared = true
		if in.Channel, in.Chat = name, chat; known {
			in.Chat = info.Chat
		}
	}
	data, err := json.Marshal(payload.Message{
		Outside: in.Outside, OutsideFrom: in.OutsideFrom, Images: in.Images, Via: in.Via, Unknown: in.Unknown, Name: in.SenderName, Title: in.ChatName, Server: in.Server, Extra: in.Payload, Shared: shared,
		Client: in.Client, ReplyTo: in.ReplyTo, Threaded: in.Threaded, OnlyReplies: in.OnlyReplies,
	})
	if err != nil {
		return bus.Event{}, fmt.Errorf("take message: %w", err)
	}
	ev := bus.Event{
		ID: bus.NewID(), Kind: bus.Message, Source: in.Channel, Session: in.Session, Channel: in.Channel, Chat: in.Chat, Sender: in.Sender,
		Text: in.Text, Payload: data, Provenance: provenance.Outside, ReceivedAt: in.At, Key: in.Key,
	}
	if !in.FromOwner {
		return ev, nil
	}
	ev.Provenance = provenance.Owner
	if command, args := chattext.ParseCommand(in.Text); command == chattext.Steer && args != "" {
		ev.Lane = steerLane(in.Session, ev.ID)
	} else if command == chattext.Forget && args != "" {
		return ev, nil
	} else if command != "" {
		ev.Lane = bus.CommandLane(in.Session)
	} else if _, bare := chattext.ParseAnswer(in.Text); bare {
		answers, err := l.answersHere(ctx, ev)
		if err != nil {
			return ev, err
		}
		if answers {
			ev.Lane = bus.CommandLane(in.Session)
		}
	}
	return ev, nil
}

// notifyQueuePosition notifies the sender of their place in the queue: by a message on push channels,
// otherwise through the live feed.
func (l *Loop) notifyQueuePosition(tx *store.Tx, ev bus.Event, position int) error {
	if l.o.QueueNotices && l.o.Pushes(ev.Channel) {
		return l.o.Bus.EnqueueTx(tx, ev.ID, bus.OutboxItem{Provenance: provenance.Hob, Delivery: channels.Delivery{
			Kind: channels.Status, Session: ev.Session, Channel: ev.Channel, Chat: ev.Chat, Text: fmt.Sprintf("One moment, you are #%d.", position+1),
		}})
	}
	tx.AfterCommit(func() {
		l.o.Bus.Feed.Publish("status", ev.ID, ev.Session, map[string]int{"position": position + 1})
	})
	return nil
}

// Fire implements watchers.Sink.
func (l *Loop) Fire(ctx context.Context, id string, signals []watchers.Signal, save func(*store.Tx) error) error {
	spec, err := l.o.Watcher(ctx, id)
	if err != nil {
		return err
	}
	events := make([]bus.Event, 0, len(signals))
	for _, s := range signals {
		ev, err := l.newSignalEvent(spec, s)
		if err != nil {
			return err
		}
		events = append(events, ev)
	}
	return l.o.Store.Write(ctx, func(tx *store.Tx) error {
		for _, ev := range events {
			if _, err := l.o.Bus.PutTx(tx, ev); err != nil {
				return err
			}
		}
		if save == nil {
			return nil
		}
		return save(tx)
	})
}

func (l *Loop) newSignalEvent(spec watchers.Spec, s watchers.Signal) (bus.Event, error) {
	if s.Skipped > 0 || s.Notice { // it was dropped, or concerns the watcher itself: only notify the owner
		spec.Mode = watchers.Notify
	}
	data, err := json.Marshal(payload.Signal{
		Watcher: spec.ID, Title: spec.Title, Mode: spec.Mode, Action: spec.Action, Report: spec.Report, Signal: s.Text,
		Late: s.Late, Note: s.Note, Made: spec.Provenance, Agent: spec.Agent, Data: s.Payload,
	})
	if err != nil {
		return bus.Event{}, fmt.Errorf("watcher %s: %w", spec.ID, err)
	}
	kind := bus.Watcher
	if spec.Timed {
		kind = bus.Schedule
	}
	name := string(kind) + ":" + spec.ID
	return bus.Event{
		Kind: kind, Source: name, Session: name, Text: s.Text, Payload: data, Provenance: provenance.Worst(s.Source, spec.Provenance),
		Key: s.Key,
	}, nil
}

// ReportError implements watchers.Sink. It notifies the owner that a watcher fails completely or
// partly.
func (l *Loop) ReportError(ctx context.Context, id string, cause error) {
	spec, err := l.o.Watcher(ctx, id)
	if err == nil {
		_, err = l.o.Bus.Put(ctx, bus.Event{
			Kind: bus.System, Source: "watcher:" + id, Session: "system", Provenance: provenance.Outside,
			Text:    fmt.Sprintf("There is a problem with watching %q: %v", spec.Title, cause),
			Payload: mustJSON(payload.Signal{Watcher: id, Title: spec.Title, Mode: watchers.Notify, Report: spec.Report}),
		})
	}
	if err != nil && ctx.Err() == nil {
		l.o.Log.Warn("cannot report a broken watcher", "watcher", id, "cause", cause, "err", err)
	}
}

// Trigger accepts a webhook's payload as untrusted text.
func (l *Loop) Trigger(ctx context.Context, name, key string, body []byte) (channels.Accepted, error) {
	t, ok := l.o.Triggers[name]
	if !ok {
		return channels.Accepted{}, fmt.Errorf("trigger %q: %w", name, bus.ErrNotFound)
	}
	if !utf8.Valid(body) {
		return channels.Accepted{}, ErrNotText
	}
	report := t.Session
	if report == "" {
		report = "main"
	}
	data := mustJSON(payload.Signal{Watcher: name, Title: name, Mode: watchers.Do, Action: t.Action, Report: report, Signal: string(body), Made: provenance.Owner})
	return l.o.Bus.Put(ctx, bus.Event{
		Kind: bus.Webhook, Source: "trigger:" + name, Session: "trigger:" + name, Text: string(body), Payload: data,
		Provenance: provenance.Outside, Key: key,
	})
}

// mustJSON encodes values of our own plain types.
func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// Notify sends a notice from Hob to the owner; key deduplicates.
func (l *Loop) Notify(ctx context.Context, key, text string) error {
	_, err := l.o.Bus.Put(ctx, bus.Event{
		Kind: bus.System, Source: "hob", Session: "system", Text: text, Provenance: provenance.Hob, Key: key, Payload: mustJSON(payload.Signal{Mode: watchers.Notify}),
	})
	return err
}

// NotifyCritical is Tell for critical notices; it ignores quiet hours.
func (l *Loop) NotifyCritical(ctx context.Context, key, text string) error {
	_, err := l.o.Bus.Put(ctx, bus.Event{
		Kind: bus.System, Source: "hob", Session: "system", Text: text, Provenance: provenance.Hob, Key: key,
		Payload: mustJSON(payload.Signal{Mode: watchers.Notify, Urgency: notify.Critical}),
	})
	return err
}

// TellTx is Tell inside a transaction, to the named conversation.
func (l *Loop) TellTx(tx *store.Tx, key, text, report string) error {
	return l.tellTx(tx, provenance.Hob, key, text, report)
}

// tellTx is TellTx for a text that may quote untrusted text.
func (l *Loop) tellTx(tx *store.Tx, from provenance.Source, key, text, report string) error {
	_, err := l.o.Bus.PutTx(tx, bus.Event{
		ID: bus.NewID(), Kind: bus.System, Source: "hob", Session: "system", Text: text, Provenance: from, Key: key,
		Payload: mustJSON(payload.Signal{Mode: watchers.Notify, Report: report}),
	})
	return err
}
