package app

import (
	"context"
	"fmt"
	"path/filepath"

	"hob/autonomy/bus"
	"hob/autonomy/config"
	"hob/channels/notes"
	"hob/channels/reminders"
	"hob/platform/host/system"
	"hob/platform/pim"
	"hob/platform/pim/listfeed"
)

// Texts that tools write into the user's lists and notes must not count as the user's words in
// the channels that read these: untrusted text would become trusted by way of a reminder. So
// each text is recorded before it is written.

// toolLists are the lists that tools write to.
func (d *App) toolLists() []pim.Reminders {
	out := d.taskLists()
	if d.channels == nil || !d.channels.Has(reminders.Name) {
		return out
	}
	for i, l := range out {
		out[i] = ownReminders{l, d.ownWords(reminders.Name)}
	}
	return out
}

// toolNotes are the notes that tools write to.
func (d *App) toolNotes() []pim.Notes {
	out := d.noteStores()
	if d.channels == nil || !d.channels.Has(notes.Name) {
		return out
	}
	for i, n := range out {
		out[i] = ownNotes{n, d.ownWords(notes.Name)}
	}
	return out
}

func (d *App) ownWords(channel string) *listfeed.Set {
	return listfeed.NewSet(bus.NewChannelState(d.store, channel), listfeed.Own, listfeed.MostOwn)
}

type ownReminders struct {
	pim.Reminders
	own *listfeed.Set
}

// CreateReminder implements pim.Reminders.
func (o ownReminders) CreateReminder(ctx context.Context, r pim.Reminder) (pim.Receipt, error) {
	if err := o.own.Add(ctx, listfeed.Words(r.Title, r.Notes)); err != nil {
		return pim.Receipt{}, fmt.Errorf("record own text: %w", err)
	}
	got, err := o.Reminders.CreateReminder(ctx, r)
	if err == nil && got.ID != "" {
		_ = o.own.Add(context.WithoutCancel(ctx), listfeed.Digest(got.ID)) // its text is recorded
	}
	return got, err
}

type ownNotes struct {
	pim.Notes
	own *listfeed.Set
}

// CreateNote implements pim.Notes.
func (o ownNotes) CreateNote(ctx context.Context, n pim.Note) (pim.Receipt, error) {
	if err := o.own.Add(ctx, listfeed.Words(n.Title, n.Text), listfeed.Words(n.Text)); err != nil {
		return pim.Receipt{}, fmt.Errorf("record own text: %w", err)
	}
	got, err := o.Notes.CreateNote(ctx, n)
	if err == nil && got.ID != "" {
		_ = o.own.Add(context.WithoutCancel(ctx), listfeed.Digest(got.ID)) // its text is recorded
	}
	return got, err
}

// protectedPaths are the places that no tool for files and no command touches, within allowed
// folders too.
func (d *App) protectedPaths() []string { return ownPlaces(d.opt.Paths, d.opt.Config) }

// ownPlaces are Hob's own, and the folder of notes in which its owner talks with it.
func ownPlaces(p system.Paths, conf *config.Config) []string {
	out := p.Own()
	s, ok := conf.Channel(notes.Name)
	if conf.Pim.NotesFolder == "" || !ok || !s.Enabled {
		return out
	}
	var c notes.Config
	if err := s.Decode(&c); err != nil {
		return out // the channel cannot be used then
	}
	return append(out[:len(out):len(out)], filepath.Join(conf.Pim.NotesFolder, filepath.FromSlash(notes.FolderOf(c))))
}
