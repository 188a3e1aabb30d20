package app

import (
	"context"
	"errors"
	"strings"

	"hob/autonomy/agents"
	"hob/autonomy/bus"
	"hob/autonomy/session"
)

// openLibrary makes messages searchable.
func (d *App) openLibrary(context.Context) (err error) {
	d.library, err = session.NewLibrary(d.sessions, d.base, session.LibraryOptions{Realm: d.realmOf, About: d.aboutTurn})
	return err
}

// realmOf is the memory realm of the agent whose conversation it is.
func (d *App) realmOf(ctx context.Context, id string) (string, error) {
	if i := strings.LastIndexByte(id, '/'); i >= 0 { // the conversation of a delegated task
		t, err := d.crew.Task(ctx, id[i+1:])
		if err == nil && t.Own() == id {
			if m, ok := d.crew.Named(t.Agent); ok {
				return m.Options.Realm, nil
			}
			return t.Agent, nil // the agent no longer exists; its memory stays separate
		}
		if err != nil && !errors.Is(err, bus.ErrNotFound) {
			return "", err
		}
	}
	info, _, err := d.sessions.Get(ctx, id)
	if err != nil {
		return "", err
	}
	m, err := d.crew.CurrentAgent(ctx, agents.MessageOrigin{Session: id, Channel: info.Channel, Chat: info.Chat})
	if errors.Is(err, agents.ErrNobody) {
		return nobodys, nil
	}
	return m.Options.Realm, err
}

// nobodys is the namespace of conversations without an agent: only the user finds them.
const nobodys = "(nobody)"

// aboutTurn returns the sender of the message that a turn answers, as named by the channel.
func (d *App) aboutTurn(ctx context.Context, turn string) (session.About, error) {
	ev, err := d.bus.Event(ctx, turn)
	if errors.Is(err, bus.ErrNotFound) {
		return session.About{}, nil
	}
	return session.About{Sender: ev.Sender, Call: ev.Kind == bus.Task && !agents.IsTaskEvent(ev)}, err
}
