package learn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
)

// lessonExport is a lesson in export form, including the fields that are otherwise hidden.
type lessonExport struct {
	Lesson

	Key    string   `json:"key,omitempty"`
	Cue    []string `json:"cue,omitempty"`
	Failed string   `json:"failed,omitempty"`
}

// preferenceExport is a preference in export form.
type preferenceExport struct {
	ID   string    `json:"id"`
	What string    `json:"what"`
	Text string    `json:"text"`
	By   string    `json:"said_by"`
	At   time.Time `json:"at"`
}

// ErrNotLearned means that the data is neither a lesson nor a preference.
var ErrNotLearned = errors.New("not a lesson or preference")

// Each calls lesson for every lesson and preference for every preference, for export.
func (l *Learner) Each(ctx context.Context, lesson, preference func(json.RawMessage) error) error {
	q := l.o.Store.Reader(ctx)
	lessons, err := lessonsOf(q, "")
	if err != nil {
		return err
	}
	for _, x := range lessons {
		x.State = "" // the state changes over time
		if err := passJSON(lesson, lessonExport{x, x.key, x.cue, x.failed}); err != nil {
			return err
		}
	}
	list, err := preferencesOf(q, "")
	if err != nil {
		return err
	}
	for _, p := range list {
		if err := passJSON(preference, preferenceExport{p.ID, p.Key, p.Text, p.SaidBy, p.At}); err != nil {
			return err
		}
	}
	return nil
}

func passJSON(to func(json.RawMessage) error, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("learn: export lessons: %w", err)
	}
	return to(b)
}

// RestoreLessonTx stores a lesson that Each exported, and reports whether it was added. It does not
// replace an existing lesson, and it rejects untrusted text.
func (l *Learner) RestoreLessonTx(tx *store.Tx, raw json.RawMessage) (bool, error) {
	var k lessonExport
	if err := json.Unmarshal(raw, &k); err != nil {
		return false, fmt.Errorf("%w: %w", ErrNotLearned, err)
	}
	x := k.Lesson
	x.key, x.cue, x.failed = k.Key, k.Cue, k.Failed
	if x.ID == "" || strings.TrimSpace(x.Text) == "" || len(x.Text) > 4*maxLesson || x.Provenance.Tainted() || x.Provenance == provenance.Unknown {
		return false, ErrNotLearned
	}
	old, err := lessonsOf(tx, "WHERE id = ?", x.ID)
	if err != nil || len(old) > 0 {
		return false, err
	}
	return true, l.saveTx(tx, x)
}

// RestorePreferenceTx is like RestoreLessonTx, but for a preference.
func (l *Learner) RestorePreferenceTx(tx *store.Tx, raw json.RawMessage) (bool, error) {
	var w preferenceExport
	if err := json.Unmarshal(raw, &w); err != nil {
		return false, fmt.Errorf("%w: %w", ErrNotLearned, err)
	}
	if w.ID == "" || strings.TrimSpace(w.Text) == "" || len(w.Text) > 4*maxLesson {
		return false, ErrNotLearned
	}
	list, err := preferencesOf(tx, "")
	if err != nil {
		return false, err
	}
	p := Preference{ID: w.ID, Key: w.What, Text: w.Text, SaidBy: w.By, At: w.At, cue: strings.Join(subjectCues(w.Text), " ")}
	for _, o := range list {
		if o.ID == p.ID || o.Key == p.Key && o.Text == p.Text || p.isSingle() && o.Key == p.Key && !o.At.Before(p.At) {
			return false, nil // a newer statement exists
		}
	}
	_, err = l.wishTx(tx, p)
	return err == nil, err
}
