package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard/pairing"
	"hob/channels"
	"hob/platform/failpoint"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

// SenderOptions holds the options of NewSender. All are required.
type SenderOptions struct {
	Store    *store.Store
	Bus      *bus.Bus
	Channels *channels.Manager
	Pairings *pairing.Pairings
	Spool    *channels.Spool
	// OpenFile opens a file that the user allows Hob to read and that is at most
	// channels.MaxOutgoingFile bytes long. It returns the file's resolved path and whether the file
	// is hidden.
	OpenFile func(path string) (resolved string, hidden bool, r io.ReadCloser, err error)
	// Delay returns how long a message to another person on a channel can be canceled.
	Delay func(channel string) time.Duration
	// Sends reports whether this process sends messages. Otherwise they wait until Hob starts.
	Sends bool
	Zone  func() *time.Location
}

// Sender sends messages and files from tools through the outbox. It may be used concurrently. Its
// errors are tool errors.
type Sender struct{ o SenderOptions }

// NewSender returns a Sender.
func NewSender(o SenderOptions) *Sender { return &Sender{o} }

// Channels returns the names of the channels that can send, in sorted order.
func (s *Sender) Channels() []string {
	var out []string
	for _, h := range s.o.Channels.Status() {
		if s.o.Channels.Has(h.Name) && !h.Pull {
			out = append(out, h.Name)
		}
	}
	return out
}

// Owners reports whether only the user and Hob are in a chat. Someone who used the channel in the
// past counts as the user only while still paired.
func (s *Sender) Owners(ctx context.Context, channel, chat string) (bool, error) {
	sender, ok, err := s.o.Bus.Owner.PrivateChatSender(ctx, channel, chat)
	if err != nil || !ok {
		return false, err
	}
	return s.o.Pairings.IsOwner(ctx, channel, sender)
}

// File inspects a file before it is sent. The user must allow Hob to read it.
func (s *Sender) File(_ context.Context, path string) (channels.OutgoingFile, error) {
	resolved, hidden, r, err := s.o.OpenFile(path)
	if err != nil {
		return channels.OutgoingFile{}, err
	}
	defer func() { _ = r.Close() }() // only read from, so Close cannot lose data
	f, err := channels.InspectOutgoing(resolved, hidden, r)
	switch {
	case errors.Is(err, channels.ErrFileTooLarge):
		return f, tools.Errorf(tools.Unsupported, "%s is larger than the limit of %d MB", resolved, channels.MaxOutgoingFile>>20)
	case err != nil:
		return f, tools.Errorf(tools.Failed, "%s cannot be read: %w", resolved, err)
	}
	return f, nil
}

// Keep stores durable copies of a message's files, if the channel accepts such files. It fails with
// Conflict if the content of a file has changed.
func (s *Sender) Keep(ctx context.Context, m channels.OutgoingMessage) error {
	most, ok := s.o.Channels.Attaches(m.Channel)
	for _, f := range m.Files {
		if !ok || f.Size > most {
			return nil
		}
		err := s.o.Spool.Put(ctx, f, func() (io.ReadCloser, error) {
			_, _, r, err := s.o.OpenFile(f.Path)
			return r, err
		})
		if err != nil {
			return spoolToolError(f, err)
		}
		if err := s.o.Bus.Files.Attach(ctx, f); err != nil {
			return err
		}
	}
	failpoint.Hit("file.outgoing.kept")
	return nil
}

// spoolToolError converts an error from Spool.Put to a tool error.
func spoolToolError(f channels.OutgoingFile, err error) error {
	if e, ok := errors.AsType[*tools.Error](err); ok { // OpenFile returned this error
		return e
	}
	if e, ok := errors.AsType[*channels.SpoolFullError](err); ok {
		return &tools.Error{
			Source: provenance.Outside, Code: tools.Failed, Message: e.Error(),
			Remedy: "send it again in a few minutes; see unsent messages with: hob channel status",
		}
	}
	if errors.Is(err, channels.ErrFileChanged) {
		return tools.Errorf(tools.Conflict, "the file changed after you approved it; nothing was sent")
	}
	return tools.Errorf(tools.Failed, "%s was not sent: %w", f.Name, err)
}

// Here returns the user's chat on the given channel. If channel is "", it returns the channel and
// chat of the event, or "" and "" for a conversation on this machine.
func (s *Sender) Here(ctx context.Context, event, channel string) (in, chat string, err error) {
	if channel != "" {
		chat, err = bus.OwnerChat(s.o.Store.Reader(ctx), channel)
		return channel, chat, err
	}
	ev, err := s.o.Bus.Inbox.Event(ctx, event)
	if errors.Is(err, bus.ErrNotFound) {
		return "", "", nil // the event does not exist, for example in a dry run
	}
	if err != nil {
		return "", "", err
	}
	if s.o.Channels.Has(ev.Channel) && !s.o.Channels.Pull(ev.Channel) {
		return ev.Channel, ev.Chat, nil
	}
	return "", "", nil
}

// SendTx queues a message, in the transaction that records the call.
func (s *Sender) SendTx(_ context.Context, tx *store.Tx, c tools.Call, m channels.OutgoingMessage) (channels.QueuedMessage, error) {
	o := bus.OutboxItem{
		Delivery:   channels.Delivery{Session: c.Report, Channel: m.Channel, Chat: m.To, Text: m.Text},
		Provenance: provenance.Worst(provenance.Hob, c.Provenance),
	}
	attached, err := s.attachFiles(&o, m)
	if err != nil {
		return channels.QueuedMessage{}, err
	}
	at := time.Now()
	if !m.Owner {
		at = at.Add(s.o.Delay(m.Channel))
		o.NotBefore = at
	}
	d, err := s.o.Bus.Outbox.SendTx(tx, c.Event, o)
	if errors.Is(err, bus.ErrNoWay) {
		return channels.QueuedMessage{}, tools.Errorf(tools.Unsupported, "nothing was sent: %w", tools.CleanErr(err))
	}
	return channels.QueuedMessage{ID: d.ID, At: at, Waits: !s.o.Sends, Attached: attached}, err
}

// attachFiles attaches the files of a message if the channel supports them. Otherwise, a message to
// the user says where the files are.
func (s *Sender) attachFiles(o *bus.OutboxItem, m channels.OutgoingMessage) (bool, error) {
	if len(m.Files) == 0 {
		return false, nil
	}
	most, ok := s.o.Channels.Attaches(m.Channel)
	for _, f := range m.Files {
		if ok && f.Size <= most {
			continue
		}
		if !m.Owner {
			return false, tools.Errorf(tools.Unsupported, "nothing was sent: %s does not accept %s (%d bytes; maximum %d)", tools.Clean(m.Channel), f.Name, f.Size, most)
		}
		o.Text += fmt.Sprintf("\n%s is on your computer: %s", f.Name, f.Path)
		return false, nil
	}
	for _, f := range m.Files {
		o.Files = append(o.Files, channels.Attachment{Name: channels.FileName(f.Name), MIME: f.MIME, Size: f.Size, Path: s.o.Spool.Path(f.Digest)})
	}
	return true, nil
}

// CallBackTx cancels a message and describes the outcome. It fails with Conflict if the message has
// been sent.
func (s *Sender) CallBackTx(_ context.Context, tx *store.Tx, id string) (string, error) {
	d, err := s.o.Bus.Outbox.CancelSendTx(tx, id, "canceled by the user")
	to := d.Channel
	if d.Chat != "" {
		to = d.Chat + " on " + to
	}
	switch {
	case errors.Is(err, bus.ErrTooLate):
		return "", tools.Errorf(tools.Conflict, "cannot cancel the message to %s: %s", to, s.tooLateReason(d))
	case err != nil:
		return "", err
	case d.MaybeRepeated:
		return fmt.Sprintf("Canceled the message to %s, but an earlier attempt may have arrived.", to), nil
	}
	return fmt.Sprintf("Canceled: the message to %s was not sent.", to), nil
}

// tooLateReason returns why a message can no longer be canceled.
func (s *Sender) tooLateReason(d bus.Delivery) string {
	switch d.State {
	case channels.Sent:
		return "the message was sent at " + d.SentAt.In(s.o.Zone()).Format("15:04:05")
	case channels.Sending:
		return "the message is being sent now"
	case channels.Cancelled:
		return "the message was already canceled"
	}
	return "it is " + string(d.State)
}
