package learn

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"hob/autonomy/turn/prompt"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/sorting"
)

// RelevantLessons returns the lessons that apply to text, best match first, and then the user's
// preferences that match it. Rules apply to every text. Rules that share no keyword with text come
// after the other lessons.
func (l *Learner) RelevantLessons(ctx context.Context, realm, text string, limit int) ([]prompt.Note, error) {
	lessons, wishes, err := l.activeRows(ctx)
	if err != nil {
		return nil, err
	}
	about := subjectCues(text)
	now := time.Now()
	type candidate struct {
		Lesson

		shared int
	}
	var list []candidate
	for _, x := range lessons {
		state := x.stateAt(now)
		if x.Realm != realm || state != Active && state != Stale {
			continue
		}
		n := countCommon(about, x.cue)
		called := n >= 2 || n > 0 && 2*n >= len(about) || x.Kind == Tool && countCommon(about, subjectWords(x.key)) > 0
		rule := x.Kind == Always || x.Kind == Never
		if called || rule && state == Active {
			list = append(list, candidate{x, n})
		}
	}
	sorting.ByFunc(list, func(x, y candidate) int { return cmp.Or(y.shared-x.shared, compareLessons(x.Lesson, y.Lesson)) })
	var out []prompt.Note
	for _, c := range list {
		out = append(out, prompt.Note{ID: c.ID, Text: c.Text, Source: provenance.Hob})
	}
	for _, w := range wishes {
		if !w.isSingle() && countCommon(about, strings.Fields(w.cue)) > 0 {
			out = append(out, prompt.Note{ID: w.ID, Source: provenance.Hob, Text: "The user said on " + w.At.In(l.o.Zone()).Format(time.DateOnly) + ": “" + w.Text + "”"})
		}
	}
	return out[:min(len(out), limit)], nil
}

// subjectWords returns those words in a tool's name that describe its subject.
func subjectWords(key string) []string {
	name := key[:strings.IndexAny(key+"|", "|!")]
	return slices.DeleteFunc(strings.Split(name, "_"), func(w string) bool {
		return len(w) < 4 || slices.Contains([]string{"create", "list", "update", "delete", "search", "find", "cancel", "pause", "file"}, w)
	})
}

// UsedTx records which lessons a request in a conversation contained.
func (l *Learner) UsedTx(tx *store.Tx, session string, ids []string) error {
	for _, id := range ids {
		if _, err := tx.Exec(`UPDATE lessons SET uses = uses + 1, used_in = ?, seen_at = ? WHERE id = ?`, session, time.Now().UnixMilli(), id); err != nil {
			return err
		}
	}
	l.changedTx(tx)
	return nil
}
