package listfeed

import (
	"context"
	"fmt"

	"hob/platform/pim"
)

// Text that Hob's tools write to the user's lists and notes must not count as the user's words in
// the channels that read them, because untrusted text would become trusted by way of a reminder.
// All such text is therefore recorded before it is written.

// RecordReminders wraps the lists so that they record the text of each new reminder for a channel.
func RecordReminders(lists []pim.Reminders, channel StateStore) []pim.Reminders {
	own := NewSet(channel, Own, MostOwn)
	out := make([]pim.Reminders, len(lists))
	for i, l := range lists {
		out[i] = recordedReminders{l, own}
	}
	return out
}

// RecordNotes wraps the notes so that they record the text of each new note for a channel.
func RecordNotes(notes []pim.Notes, channel StateStore) []pim.Notes {
	own := NewSet(channel, Own, MostOwn)
	out := make([]pim.Notes, len(notes))
	for i, n := range notes {
		out[i] = recordedNotes{n, own}
	}
	return out
}

type recordedReminders struct {
	pim.Reminders
	own *Set
}

// CreateReminder implements pim.Reminders.
func (o recordedReminders) CreateReminder(ctx context.Context, r pim.Reminder) (pim.Receipt, error) {
	if err := o.own.Add(ctx, Words(r.Title, r.Notes)); err != nil {
		return pim.Receipt{}, fmt.Errorf("record own text: %w", err)
	}
	got, err := o.Reminders.CreateReminder(ctx, r)
	if err == nil && got.ID != "" {
		_ = o.own.Add(context.WithoutCancel(ctx), Digest(got.ID)) // if this fails, the recorded text still identifies the entry
	}
	return got, err
}

type recordedNotes struct {
	pim.Notes
	own *Set
}

// CreateNote implements pim.Notes.
func (o recordedNotes) CreateNote(ctx context.Context, n pim.Note) (pim.Receipt, error) {
	if err := o.own.Add(ctx, Words(n.Title, n.Text), Words(n.Text)); err != nil {
		return pim.Receipt{}, fmt.Errorf("record own text: %w", err)
	}
	got, err := o.Notes.CreateNote(ctx, n)
	if err == nil && got.ID != "" {
		_ = o.own.Add(context.WithoutCancel(ctx), Digest(got.ID)) // if this fails, the recorded text still identifies the entry
	}
	return got, err
}

// RecordAllReminders works like RecordReminders, for several channels.
func RecordAllReminders(lists []pim.Reminders, channels []StateStore) []pim.Reminders {
	for _, c := range channels {
		lists = RecordReminders(lists, c)
	}
	return lists
}

// RecordAllNotes works like RecordNotes, for several channels.
func RecordAllNotes(notes []pim.Notes, channels []StateStore) []pim.Notes {
	for _, c := range channels {
		notes = RecordNotes(notes, c)
	}
	return notes
}
