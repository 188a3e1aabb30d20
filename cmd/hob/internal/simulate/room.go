package simulate

import (
	"context"
	"fmt"
	"slices"

	"hob/channels"
	channelsall "hob/channels/all"
)

// room is a channel of the script or the configuration: nothing of it leaves the
// process.
type room struct {
	name  string
	allow []string // who writes there
	heard chan channels.Inbound
}

// channels are drivers that make rooms, for all channels there are.
func (w *world) channels() (out []channels.Driver) {
	for _, d := range channelsall.Drivers() {
		out = append(out, roomDriver{w, d.Name()})
	}
	return out
}

type roomDriver struct {
	w    *world
	name string
}

// Name implements channels.Driver.
func (d roomDriver) Name() string { return d.name }

// New implements channels.Driver.
func (d roomDriver) New(func(any) error, channels.Deps) (channels.Channel, error) {
	r := &room{name: d.name, heard: make(chan channels.Inbound)}
	for _, in := range d.w.p.o.Script.Inputs {
		if in.Kind == Writes && in.To == d.name && !slices.Contains(r.allow, in.More) {
			r.allow = append(r.allow, in.More)
		}
	}
	d.w.mu.Lock()
	defer d.w.mu.Unlock()
	d.w.rooms[d.name] = r
	return r, nil
}

// Allow implements channels.Allower.
func (r *room) Allow() []string { return r.allow }

// Run implements channels.Channel.
func (r *room) Run(ctx context.Context, to channels.Receiver) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case in := <-r.heard:
			if _, err := to.Receive(ctx, in); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

// Send implements channels.Channel: what Hob says is in its own records.
func (r *room) Send(_ context.Context, d channels.Delivery) (channels.Receipt, error) {
	return channels.Receipt{ID: d.ID}, nil
}

// write lets somebody write in a channel.
func (w *world) write(in Input) error {
	w.mu.Lock()
	r := w.rooms[in.To]
	w.mu.Unlock()
	if r == nil {
		return fmt.Errorf("there is no channel %q; switch one on with a section [channels.%[1]s] below \"-- config --\"", in.To)
	}
	r.heard <- channels.Inbound{Channel: r.name, Chat: in.More, Sender: in.More, SenderName: in.More, Text: in.Body, Key: fmt.Sprint("line-", in.Line)}
	return nil
}
