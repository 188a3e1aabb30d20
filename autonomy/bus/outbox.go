package bus

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
)

// Outbox stores the messages to send, and tracks each of them until a channel has delivered it. It
// implements channels.Outbox, channels.Counter and channels.Drafts.
type Outbox struct {
	db     *store.Store
	files  *SharedFiles
	now    func() time.Time
	feed   *Feed
	route  func(channel, chat string) (string, string, bool)
	clean  func(string) string
	filter func(*store.Tx, string, OutboxItem) (OutboxItem, bool, error)
	lost   func(*store.Tx, Delivery) (bool, error)

	mu      sync.Mutex
	signals map[string]chan struct{} // keyed by channel; signals that rows may be due
}

// OutboxItem is one message to send.
type OutboxItem struct {
	channels.Delivery
	Provenance provenance.Source
	// NotBefore delays the message on a push channel. On a pull channel nothing would release the
	// message, so it is sent immediately.
	NotBefore time.Time
	// Judged reports whether Options.NoticeFilter was already applied.
	Judged bool
	// Checked reports whether the user's hooks have let the message pass.
	Checked bool
	// Hint is a model's rating. Options.NoticeFilter decides how to use it.
	Hint Hint
	// Asks lists the ids of the approval requests in the message. Only the engine sets it, because
	// it turns the message into a question that can be shown and answered.
	Asks []string
}

// Hint is a model's rating of the urgency of a message.
type Hint struct {
	By      string // name of the model; "" if none was called
	Urgency string // "" if the model gave no rating
	Why     string // reason in the model's words
}

// Errors when sending to other people.
var (
	// ErrNoWay means that no running push channel has this name. A message to the owner then falls
	// back to another channel; a send does not.
	ErrNoWay = errors.New("channel not found or not running")
	// ErrTooLate means that the message to cancel was already sent or canceled.
	ErrTooLate = errors.New("too late to cancel: already sent or canceled")
)

// EnqueueTx adds messages to the outbox as the next messages of an event. Messages for pull
// channels are delivered when the transaction commits.
func (box *Outbox) EnqueueTx(tx *store.Tx, event string, outs ...OutboxItem) error {
	if len(outs) == 0 {
		return nil
	}
	n, err := lastSaid(tx, event)
	if err != nil {
		return err
	}
	for _, o := range outs {
		if !o.Judged {
			var pass bool
			o.ID, o.Text = deliveryID(event, n+1), box.clean(o.Text)
			if o, pass, err = box.filter(tx, event, o); err != nil {
				return fmt.Errorf("bus: queue message: %w", err)
			} else if !pass {
				continue
			}
		}
		n++
		channel, chat, pull := box.route(o.Channel, o.Chat)
		o.Channel, o.Chat = channel, chat
		if _, err := box.enqueueDelivery(tx, event, n, o, pull); err != nil {
			return fmt.Errorf("bus: queue message: %w", err)
		}
	}
	return nil
}

// deliveryID returns the id for the nth message of an event.
func deliveryID(event string, n int) string { return fmt.Sprintf("%s-%d", event, n) }

func lastSaid(tx *store.Tx, event string) (n int, err error) {
	err = tx.QueryRow(`SELECT coalesce(max(n), 0) FROM outbox WHERE event = ?`, event).Scan(&n)
	return n, err
}

// NextIDTx returns the id of the next delivery of an event.
func (box *Outbox) NextIDTx(tx *store.Tx, event string) (string, error) {
	n, err := lastSaid(tx, event)
	return deliveryID(event, n+1), err
}

func (box *Outbox) enqueueDelivery(tx *store.Tx, event string, n int, o OutboxItem, pull bool) (Delivery, error) {
	channel, chat, now := o.Channel, o.Chat, box.now()
	d := Delivery{
		ID: deliveryID(event, n), Event: event, Kind: o.Kind, Session: o.Session, Channel: channel, Chat: chat, Text: box.clean(o.Text),
		State: channels.Queued, CreatedAt: now, NotBefore: o.NotBefore,
	}
	if pull {
		d.State, d.SentAt = channels.Sent, now
	} else if hold, err := holdsDelivery(tx, event, o.Kind); err != nil {
		return d, err
	} else if hold {
		d.State, d.Error = channels.Held, heldWhy
	}
	files, err := filesColumn(o.Files)
	if err != nil {
		return d, err
	}
	_, err = tx.Exec(`INSERT INTO outbox (id, event, n, kind, session, channel, chat, text, provenance, state, not_before, created_at, sent_at, files, asks, error, inbox_seq)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,(SELECT coalesce(max(seq), 0) FROM inbox))`, d.ID, event, n, d.Kind, d.Session, channel, chat, d.Text, o.Provenance, d.State,
		store.Millis(o.NotBefore), now.UnixMilli(), store.Millis(d.SentAt), files, strings.Join(o.Asks, " "), d.Error)
	if err != nil {
		return d, err
	}
	if o.Kind == channels.Question {
		if err := undraftTx(tx, event); err != nil {
			return d, err
		}
	}
	tx.AfterCommit(func() {
		if d.State == channels.Sent {
			box.feed.Publish("delivery", event, d.Session, d)
		}
		box.signalDelivery(channel)
	})
	return d, nil
}

// filesColumn encodes files for a column.
func filesColumn(files []channels.Attachment) (string, error) {
	if len(files) == 0 {
		return "", nil
	}
	raw, err := json.Marshal(files)
	return string(raw), err
}

// SendTx queues a message to another person as the next message of an event. The message is sent at
// o.NotBefore. Before that, CancelSendTx can cancel it.
func (box *Outbox) SendTx(tx *store.Tx, event string, o OutboxItem) (Delivery, error) {
	channel, chat, pull := box.route(o.Channel, o.Chat)
	if pull || channel != o.Channel || chat != o.Chat {
		return Delivery{}, fmt.Errorf("channel %q: %w", o.Channel, ErrNoWay)
	}
	n, err := lastSaid(tx, event)
	if err != nil {
		return Delivery{}, fmt.Errorf("bus: queue send: %w", err)
	}
	o.Kind = channels.Send
	d, err := box.enqueueDelivery(tx, event, n+1, o, false)
	if err != nil {
		return d, fmt.Errorf("bus: queue send: %w", err)
	}
	tx.AfterCommit(func() { box.feed.Publish("delivery", event, d.Session, d) })
	return d, nil
}

// CancelSendTx cancels a send that has not been sent yet, with a reason. If it was already sent or
// canceled, CancelSendTx returns the unchanged row and ErrTooLate. After an attempt, MaybeRepeated
// is set: the message may have arrived although Hob received no confirmation.
func (box *Outbox) CancelSendTx(tx *store.Tx, id, why string) (Delivery, error) {
	res, err := tx.Exec(`UPDATE outbox SET state = 'cancelled', error = ?, maybe_repeated = max(maybe_repeated, attempts > 0) WHERE id = ? AND kind = 'send' AND state IN ('queued', 'failed', 'held')`, why, id)
	if err != nil {
		return Delivery{}, fmt.Errorf("bus: cancel send %s: %w", id, err)
	}
	d, err := scanDelivery(tx.QueryRow(`SELECT `+deliveryColumns+` FROM outbox WHERE id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return d, fmt.Errorf("delivery %q: %w", id, ErrNotFound)
	}
	if err != nil {
		return d, fmt.Errorf("bus: cancel send %s: %w", id, err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return d, errors.Join(err, ErrTooLate)
	}
	tx.AfterCommit(func() {
		box.feed.Publish("delivery", d.Event, d.Session, d)
		box.signalDelivery(d.Channel)
	})
	return d, nil
}

// WithdrawTx removes a waiting message from the queue.
func (box *Outbox) WithdrawTx(tx *store.Tx, id, why string) error {
	d, err := scanDelivery(tx.QueryRow(`UPDATE outbox SET state = 'cancelled', error = ? WHERE id = ? AND state IN ('queued', 'failed') RETURNING `+deliveryColumns, why, id))
	if err != nil {
		return fmt.Errorf("bus: withdraw %s: %w", id, err)
	}
	tx.AfterCommit(func() {
		box.feed.Publish("delivery", d.Event, d.Session, d)
		box.signalDelivery(d.Channel)
	})
	return nil
}

func (box *Outbox) deliverySignal(channel string) chan struct{} {
	box.mu.Lock()
	defer box.mu.Unlock()
	d := box.signals[channel]
	if d == nil {
		d = make(chan struct{}, 1)
		box.signals[channel] = d
	}
	return d
}

func (box *Outbox) signalDelivery(channel string) {
	select {
	case box.deliverySignal(channel) <- struct{}{}:
	default:
	}
}
