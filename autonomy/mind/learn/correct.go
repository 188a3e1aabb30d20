package learn

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/shortid"
	"hob/platform/text/textnorm"
)

// alike is the minimum similarity at which two corrections count as the same. related is the
// minimum similarity at which a new correction casts doubt on an older lesson.
const (
	alike   = 0.6
	related = 0.3
)

// maxCorrections is the maximum number of corrections per message.
const maxCorrections = 2

// correctTx stores the owner's corrections. They are the owner's literal words even if the turn is
// tainted.
func (l *Learner) correctTx(tx *store.Tx, t analyzedTurn) error {
	for _, c := range t.corrections {
		s, kind := c.text, Kind(c.means)
		text := textnorm.Ellipsize(s, maxLesson)
		cue := subjectCues(s)
		if kind == Always && isNegative(s) {
			kind = Never
		}
		if kind == Meant {
			before, err := l.o.Bus.Owner.MessageBeforeTx(tx, t.Session, t.Event)
			if err != nil {
				return err
			}
			if before != "" {
				text = textnorm.Ellipsize(quoteMessage(before)+", the user corrected it: “"+textnorm.Ellipsize(s, 110)+"”", maxLesson)
				cue = append(cue, subjectCues(before)...)
			}
		}
		if err := l.takeTx(tx, t.Turn, kind, text, cue); err != nil {
			return err
		}
	}
	return nil
}

// quoteMessage returns the opening words of a lesson, which quote the message that was misunderstood.
func quoteMessage(text string) string { return "When told “" + textnorm.Ellipsize(text, 80) + "”" }

// isNegative reports whether a rule forbids something, as in "from now on don't ...".
func isNegative(s string) bool {
	for _, w := range textnorm.FoldedWords(s) {
		switch w {
		case "don", "dont", "never", "not", "no", "stop", "nicht", "nie", "niemals", "kein", "keine", "keinen", "jamais", "ne", "nunca", "non", "mai", "nao", "niet", "geen", "nooit":
			return true
		}
	}
	return false
}

// takeTx merges a correction with the existing lessons.
func (l *Learner) takeTx(tx *store.Tx, t Turn, kind Kind, text string, cue []string) error {
	list, err := lessonsOf(tx, `WHERE retired_at = 0 AND realm = ? AND kind <> ?`, t.Realm, string(Tool))
	if err != nil {
		return err
	}
	now := time.Now()
	x := Lesson{ID: shortid.New("l"), Realm: t.Realm, CreatedAt: now, Confidence: born}
	var others []Lesson
	for _, old := range list {
		switch {
		case x.Evidence == 0 && old.Kind == kind && wordSimilarity(old.cue, cue) >= alike && !isReplacement(old.Text, text):
			x = old
		default:
			others = append(others, old)
		}
	}
	x.Kind, x.Text, x.cue, x.Provenance = kind, text, cue, provenance.Owner
	x.Event, x.Session, x.SeenAt = t.Event, t.Session, now
	x.Confidence += perCorrection
	x.Evidence++
	for _, old := range others {
		how := wordSimilarity(old.cue, cue)
		switch {
		case areOpposite(old.Kind, kind) && how >= alike, old.Kind == kind && isReplacement(old.Text, text):
			old.RetiredAt, old.RetiredBy = now, x.ID
		case how >= related && old.usedIn == t.Session: // a request in this conversation contained the lesson, and the owner corrected the result
			old.Confidence -= perCorrection
		default:
			continue
		}
		if err := l.saveTx(tx, old); err != nil {
			return err
		}
	}
	return l.saveTx(tx, x)
}

func areOpposite(a, b Kind) bool { return a == Always && b == Never || a == Never && b == Always }

// isReplacement reports whether two rules differ only at the end, after a word that allows only one
// value, as in "always answer in German" and "... in English".
func isReplacement(old, text string) bool {
	a, b := textnorm.FoldedWords(old), textnorm.FoldedWords(text)
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	if n < 2 || n == len(a) || n == len(b) || len(a)-n > 2 || len(b)-n > 2 {
		return false
	}
	return slices.Contains(strings.Fields("in auf en as at um before after by nach vor als a"), a[n-1])
}

// compareLessons orders lessons by confidence, highest first.
func compareLessons(x, y Lesson) int {
	return cmp.Or(y.Confidence-x.Confidence, y.SeenAt.Compare(x.SeenAt), strings.Compare(x.ID, y.ID))
}
