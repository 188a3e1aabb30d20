package simulate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/channels"
	channelsall "hob/channels/all"
)

// playedChannel is a configured channel that sends nothing outside this process.
type playedChannel struct {
	w     *world
	name  string
	allow []string // senders that are accepted
	limit channels.Limits
	heard chan channels.Inbound
}

// roomDrivers returns a roomDriver for each channel.
func (w *world) roomDrivers() (out []channels.Driver) {
	for _, d := range channelsall.Drivers() {
		out = append(out, roomDriver{d, w})
	}
	return out
}

// roomDriver creates a playedChannel instead of the real channel.
type roomDriver struct {
	channels.Driver
	w *world
}

// sampleSecrets returns sample secrets for a driver that checks their format. They are in the order
// of the driver's settings, which is the order in which the driver resolves them.
func sampleSecrets(d channels.Description) (out []string) {
	for _, s := range d.Settings {
		if s.Sample != "" {
			out = append(out, s.Sample)
		}
	}
	return out
}

// New implements channels.Driver. The real driver validates its section and its accepted senders;
// it does not connect before Run.
func (d roomDriver) New(decode func(any) error, deps channels.Deps) (channels.Channel, error) {
	about := d.Describe()
	if list := sampleSecrets(about); len(list) > 0 {
		n := -1
		deps.Secret = func(string) (string, error) {
			n++
			return list[n%len(list)], nil
		}
	}
	real, err := d.Driver.New(decode, deps)
	d.w.mu.Lock()
	defer d.w.mu.Unlock()
	if err != nil {
		d.w.unfit[about.Name] = err
		return nil, err
	}
	r := &playedChannel{w: d.w, name: about.Name, heard: make(chan channels.Inbound)}
	if a, ok := real.(channels.Allower); ok {
		r.allow = a.Allow()
	}
	if l, ok := real.(channels.Limiter); ok {
		r.limit.Debounce = l.Limits().Debounce
	}
	d.w.rooms[about.Name] = r
	return r, nil
}

// Allow implements channels.Allower.
func (r *playedChannel) Allow() []string { return r.allow }

// Limits implements channels.Limiter, so that messages are combined as on the real channel.
func (r *playedChannel) Limits() channels.Limits { return r.limit }

// Run implements channels.Channel.
func (r *playedChannel) Run(ctx context.Context, to channels.Receiver) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case in := <-r.heard:
			switch _, err := to.Receive(ctx, in); {
			case err == nil || ctx.Err() != nil:
			case errors.Is(err, channels.ErrStranger):
				r.w.p.line.addEntry(Entry{At: time.Now(), Kind: Denied, Channel: r.name, Text: fmt.Sprintf("%s writes: %s", in.Sender, in.Text), Rule: err.Error()})
			default: // for example text that is too long; a platform would not retry it either
				r.w.p.line.addEntry(Entry{At: time.Now(), Kind: Failed, Channel: r.name, Text: err.Error()})
			}
		}
	}
}

// Send implements channels.Channel. It does nothing, because Hob's own records contain the messages
// it sends.
func (r *playedChannel) Send(_ context.Context, d channels.Delivery) (channels.Receipt, error) {
	return channels.Receipt{ID: d.ID}, nil
}

// writeToChannel sends a message from another person on a channel.
func (w *world) writeToChannel(in Input) error {
	w.mu.Lock()
	r, unfit := w.rooms[in.To], w.unfit[in.To]
	w.mu.Unlock()
	switch {
	case unfit != nil:
		return fmt.Errorf("the channel %q does not work: %w", in.To, unfit)
	case r == nil:
		return fmt.Errorf("channel %q not found; add a section [channels.%[1]s] below \"-- config --\"", in.To)
	}
	r.heard <- channels.Inbound{Channel: r.name, Chat: in.More, Sender: in.More, SenderName: in.More, Text: strings.TrimSpace(in.Body), Key: fmt.Sprint("line-", in.Line)}
	return nil
}
