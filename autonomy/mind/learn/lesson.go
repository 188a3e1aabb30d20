package learn

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
)

// Kind describes where a lesson comes from.
type Kind string

// Values of Kind.
const (
	Always Kind = "always" // a rule set by the owner
	Never  Kind = "never"
	Meant  Kind = "meant" // what the owner meant
	Tool   Kind = "tool"  // how to call a tool
)

// State describes whether a lesson is used.
type State string

// Values of State. A weak lesson is not used yet. A stale lesson is used only if its keywords
// match. Archived and retired lessons are never used.
const (
	Weak     State = "weak"
	Active   State = "active"
	Stale    State = "stale"
	Archived State = "archived"
	Retired  State = "retired"
)

// Thresholds and limits for lessons.
const (
	maxConfidence = 10
	minConfidence = 3 // minimum confidence for use
	perError      = 1
	perCorrection = 2
	born          = 1 // initial confidence before the first evidence
	perSuccess    = -2
	maxLessons    = 200
	staleAfter    = 30 * 24 * time.Hour
	archivedAfter = 90 * 24 * time.Hour
)

// Lesson is one stored lesson.
type Lesson struct {
	ID         string            `json:"id"`
	Kind       Kind              `json:"kind"`
	Text       string            `json:"text"`
	State      State             `json:"state"`
	Confidence int               `json:"confidence"` // 1 to 10; lessons are used from 3 on
	Evidence   int               `json:"evidence"`   // number of observations
	Uses       int               `json:"uses"`       // number of requests that contained the lesson
	Realm      string            `json:"realm,omitempty"`
	Provenance provenance.Source `json:"provenance"`
	Event      string            `json:"event"` // event in which the lesson was last observed
	Session    string            `json:"session"`
	CreatedAt  time.Time         `json:"created_at"`
	SeenAt     time.Time         `json:"seen_at"` // when the lesson was last observed or used
	RetiredAt  time.Time         `json:"retired_at,omitzero"`
	RetiredBy  string            `json:"retired_by,omitempty"`

	key    string   // identifies the mistake that a tool lesson is about
	cue    []string // keywords that select the lesson
	failed string   // the arguments that failed
	usedIn string   // conversation that last used the lesson
}

// stateAt returns the state of a lesson at a given time.
func (l Lesson) stateAt(now time.Time) State {
	age := now.Sub(l.SeenAt)
	switch {
	case !l.RetiredAt.IsZero():
		return Retired
	case age >= archivedAfter:
		return Archived
	case l.Confidence < minConfidence:
		return Weak
	case age >= staleAfter:
		return Stale
	}
	return Active
}

const lessonColumns = `id, realm, kind, key, text, cue, failed, confidence, evidence, uses, provenance, event, session, used_in, created_at, seen_at, retired_at, retired_by`

func lessonsOf(q store.Querier, where string, args ...any) ([]Lesson, error) {
	rows, err := q.Query(`SELECT `+lessonColumns+` FROM lessons `+where+` ORDER BY seen_at DESC, id`, args...)
	if err != nil {
		return nil, fmt.Errorf("learn: read lessons: %w", err)
	}
	defer rows.Close()
	out := []Lesson{}
	now := time.Now()
	for rows.Next() {
		var x Lesson
		var cue string
		var created, seen, retired int64
		if err := rows.Scan(&x.ID, &x.Realm, &x.Kind, &x.key, &x.Text, &cue, &x.failed, &x.Confidence, &x.Evidence, &x.Uses, &x.Provenance,
			&x.Event, &x.Session, &x.usedIn, &created, &seen, &retired, &x.RetiredBy); err != nil {
			return nil, fmt.Errorf("learn: read lessons: %w", err)
		}
		x.cue = strings.Fields(cue)
		x.CreatedAt, x.SeenAt, x.RetiredAt = store.Time(created), store.Time(seen), store.Time(retired)
		x.State = x.stateAt(now)
		out = append(out, x)
	}
	return out, rows.Err()
}

// saveTx stores a lesson and enforces the maximum number of lessons.
func (l *Learner) saveTx(tx *store.Tx, x Lesson) error {
	x.Confidence = max(0, min(x.Confidence, maxConfidence))
	if x.Confidence == 0 && x.RetiredAt.IsZero() {
		x.RetiredAt = time.Now()
	}
	_, err := tx.Exec(`INSERT INTO lessons (`+lessonColumns+`) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)
		ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, text = excluded.text, cue = excluded.cue, failed = excluded.failed, confidence = excluded.confidence,
		evidence = excluded.evidence, provenance = excluded.provenance, event = excluded.event, session = excluded.session, seen_at = excluded.seen_at,
		retired_at = excluded.retired_at, retired_by = excluded.retired_by`,
		x.ID, x.Realm, string(x.Kind), x.key, x.Text, strings.Join(x.cue, " "), x.failed, x.Confidence, x.Evidence, x.Uses, string(x.Provenance), x.Event,
		x.Session, x.usedIn, store.Millis(x.CreatedAt), store.Millis(x.SeenAt), store.Millis(x.RetiredAt), x.RetiredBy)
	if err != nil {
		return fmt.Errorf("learn: store lesson: %w", err)
	}
	l.changedTx(tx)
	// Delete the weakest lessons first. The limit also applies to retired lessons.
	for _, live := range []string{"retired_at = 0", "retired_at <> 0"} {
		if _, err := tx.Exec(`DELETE FROM lessons WHERE id IN (SELECT id FROM lessons WHERE `+live+` ORDER BY confidence DESC, seen_at DESC, id LIMIT -1 OFFSET ?)`, maxLessons); err != nil {
			return fmt.Errorf("learn: store lessons: %w", err)
		}
	}
	return nil
}

// Lessons returns lessons, most recently observed first. It includes archived and retired lessons
// only if all is true.
func (l *Learner) Lessons(ctx context.Context, all bool) ([]Lesson, error) {
	list, err := lessonsOf(l.o.Store.Reader(ctx), "")
	if err != nil || all {
		return list, err
	}
	return slices.DeleteFunc(list, func(x Lesson) bool { return x.State == Retired || x.State == Archived }), nil
}

// Change is a user's change to a lesson or a preference.
type Change struct {
	Text    string // new text of the lesson
	Retired bool   // whether the lesson is no longer used
	Delete  bool   // whether to delete the entry permanently
}

// ChangeLesson applies one change and returns the new lesson. If the user rewords a lesson, it
// becomes active again, with a confidence of at least minConfidence+perCorrection.
func (l *Learner) ChangeLesson(ctx context.Context, id string, c Change) (Lesson, error) {
	var x Lesson
	err := l.o.Store.Write(ctx, func(tx *store.Tx) error {
		list, err := lessonsOf(tx, `WHERE id = ?`, id)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return fmt.Errorf("lesson %s: %w", textnorm.Ellipsize(id, 40), ErrNotFound)
		}
		x = list[0]
		now := store.Time(store.Millis(time.Now()))
		switch {
		case c.Delete:
			l.changedTx(tx)
			_, err := tx.Exec(`DELETE FROM lessons WHERE id = ?`, id)
			return err
		case c.Retired:
			x.RetiredAt, x.RetiredBy = now, "owner"
		default:
			x.Text, x.Provenance, x.SeenAt = textnorm.Ellipsize(strings.ToValidUTF8(c.Text, "\uFFFD"), maxLesson), provenance.Owner, now
			x.RetiredAt, x.RetiredBy, x.Confidence = time.Time{}, "", max(x.Confidence, minConfidence+perCorrection)
			if x.Kind != Tool {
				x.cue = subjectCues(x.Text)
			}
		}
		x.State = x.stateAt(now)
		return l.saveTx(tx, x)
	})
	return x, err
}

// subjectCues returns those words in text that describe its subject.
func subjectCues(text string) []string {
	var out []string
	for _, w := range knowledge.TopicWords(text) {
		if f := textnorm.Fold(w); !slices.Contains(out, f) && !manner[f] {
			out = append(out, f)
		}
	}
	return out
}

// manner contains words that express a rule or a correction but do not describe its subject.
var manner = map[string]bool{
	"always": true, "never": true, "future": true, "forward": true, "meant": true, "mean": true, "immer": true, "nie": true, "niemals": true,
	"toujours": true, "jamais": true, "siempre": true, "nunca": true, "sempre": true, "mai": true, "altijd": true, "nooit": true, "anymore": true,
	"ever": true, "jetzt": true, "zukunft": true, "kunftig": true, "plus": true, "wieder": true, "wrong": true, "said": true, "don": true, "dont": true,
	"prefer": true, "like": true, "love": true, "hate": true, "dislike": true, "mag": true, "really": true, "stand": true,
}

// isNear reports whether two folded words differ only in their endings.
func isNear(a, b string) bool {
	if a == b {
		return true
	}
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n >= 4 && max(len(a), len(b))-n <= 3
}

// countCommon returns the number of words in a that are near a word in b.
func countCommon(a, b []string) (n int) {
	for _, x := range a {
		if slices.ContainsFunc(b, func(y string) bool { return isNear(x, y) }) {
			n++
		}
	}
	return n
}

// wordSimilarity returns the share of words that a and b have in common, from 0 to 1.
func wordSimilarity(a, b []string) float64 {
	n := countCommon(a, b)
	all := len(a) + len(b) - n
	if n == 0 || all == 0 {
		return 0
	}
	return float64(n) / float64(all)
}
