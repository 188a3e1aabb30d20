package knowledge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/store"
	"hob/platform/text/shortid"
	"hob/platform/text/textnorm"
	say "hob/platform/text/triples"
)

// conflictCheck compares a new fact with the existing facts.
type conflictCheck struct {
	b    *Base
	tx   *store.Tx
	f    Fact
	list []say.Triple
	now  time.Time
	// known is an existing fact that already contains everything the new fact states.
	known *Fact
	// wrong maps the id of an older fact to its claims that contradict the new fact.
	wrong map[string][]int
	order []string
	// parts are the ids of the facts that keepUncorrectedTx stored.
	parts []string
}

// checkConflictsTx determines which statements of a new fact are already known and which older
// facts they correct.
func (b *Base) checkConflictsTx(tx *store.Tx, f Fact, now time.Time) (*conflictCheck, error) {
	w := &conflictCheck{b: b, tx: tx, f: f, now: now, wrong: map[string][]int{}}
	w.list = say.Read(f.Text, now)
	if err := w.applyRephrasing(); err != nil {
		return nil, err
	}
	if err := w.sameText(); err != nil || w.known != nil {
		return w, err
	}
	covered := map[string]int{}
	weighed := 0
	for i := range w.list {
		if s := &w.list[i]; s.Attr != "" {
			weighed++
			if err := w.checkStatement(s, covered); err != nil {
				return nil, err
			}
		}
	}
	for id, n := range covered {
		if n == weighed && weighed > 0 && len(w.order) == 0 {
			old, err := factByID(tx, id)
			if err != nil {
				return nil, err
			}
			w.known = &old
		}
	}
	return w, nil
}

// newConflictCheck returns a check for a fact that is already stored.
func newConflictCheck(b *Base, tx *store.Tx, f Fact) *conflictCheck {
	return &conflictCheck{b: b, tx: tx, f: f, now: f.CreatedAt, wrong: map[string][]int{}, list: say.Read(f.Text, f.CreatedAt)}
}

// sameText searches for a fact with the same words.
func (w *conflictCheck) sameText() error {
	same := strings.Join(textnorm.FoldedWords(w.f.Text), " ")
	if same == "" {
		return nil
	}
	old, err := queryFacts(w.tx, `SELECT `+factColumns+` FROM facts WHERE retired_at = 0 AND realm = ? AND same = ? ORDER BY n`, w.f.Realm, same)
	if err != nil {
		return fmt.Errorf("knowledge: store fact: %w", err)
	}
	for _, o := range old {
		switch {
		case !textnorm.EqualFolded(o.Text, w.f.Text):
		case !w.f.Provenance.Tainted() && o.Provenance.Tainted(): // a trusted fact replaces the same fact from an untrusted source
			w.markContradicted(o.ID, -1)
		default:
			w.known = &o
			return nil
		}
	}
	return nil
}

// checkStatement compares one statement of the new fact with the existing claims about its subject.
func (w *conflictCheck) checkStatement(s *say.Triple, covered map[string]int) error {
	list, err := w.candidateClaims(*s)
	if err != nil {
		return err
	}
	known := map[string]bool{} // count each fact once, no matter how many of its claims match
	for _, c := range list {
		old, err := factByID(w.tx, c.fact)
		if err != nil {
			return err
		}
		switch outside := w.f.Provenance.Tainted(); {
		case outside && !old.Provenance.Tainted() && !isRefinement(*s, c.Triple): // an untrusted fact never corrects a trusted one
		case w.f.Kind == KindObservation && old.Kind != KindObservation && !isRefinement(*s, c.Triple):
		case isRefinement(*s, c.Triple):
			if outside || !old.Provenance.Tainted() {
				if !known[c.fact] {
					known[c.fact] = true
					covered[c.fact]++
				}
			} else {
				w.markContradicted(c.fact, c.n)
			}
		case say.Corrects(*s, c.Triple, w.now):
			w.markContradicted(c.fact, c.n)
			if s.Attr == "switched" || s.Attr == "replaced" { // the new statement gets the attribute of the replaced claim
				s.Attr, s.One = c.Attr, c.One
			}
		}
	}
	return nil
}

func isRefinement(n, o say.Triple) bool {
	return n.Attr == o.Attr && n.Ended == o.Ended && n.Past == o.Past && n.Value != "" && say.Refines(o.Value, n.Value) && n.Old == ""
}

func (w *conflictCheck) markContradicted(id string, n int) {
	if !slices.Contains(w.order, id) {
		w.order = append(w.order, id)
	}
	w.wrong[id] = append(w.wrong[id], n)
}

// candidateClaims lists the existing claims that s could confirm or contradict.
func (w *conflictCheck) candidateClaims(s say.Triple) ([]claim, error) {
	under, err := subjectKeys(w.tx, w.f.Realm, s.Subject, !w.f.Provenance.Tainted())
	if err != nil {
		return nil, err
	}
	args := make([]any, len(under))
	for i, k := range under {
		args[i] = k
	}
	out, err := claimsOf(w.tx, w.f.Realm, `c.subject IN (?`+strings.Repeat(", ?", len(under)-1)+`)`, args...)
	if err != nil || s.Attr != say.Any {
		return out, err
	}
	// "the gym membership ended" also ends "I have a gym membership"
	words := strings.Fields(s.Subject.Key)
	had, err := claimsOf(w.tx, w.f.Realm, `c.subject = ? AND c.attr IN ('owns', 'member_of', 'uses')`, say.Owner)
	for _, c := range had {
		if v := say.Words(c.Value); len(v) == len(words) && !slices.ContainsFunc(v, func(x string) bool { return !slices.Contains(words, x) }) {
			c.Attr = say.When // the attribute that a statement with say.Any ends
			out = append(out, c)
		}
	}
	return out, err
}

// applyRephrasing expands a correction such as "I meant Kaunas, not Vilnius" to a complete fact. It
// copies the newest fact that contains the wrong value and replaces the value.
func (w *conflictCheck) applyRephrasing() error {
	for _, s := range w.list {
		if s.Attr != "" || s.Old == "" {
			continue
		}
		clean := !w.f.Provenance.Tainted() // a trusted fact must not copy the text of an untrusted one
		old, err := claimsOf(w.tx, w.f.Realm, `c.words = ? AND (NOT ? OR f.provenance IN ('owner', 'hob', 'tool'))`, valueKey(s.Old), clean)
		if err != nil || len(old) == 0 {
			return err
		}
		c := old[len(old)-1]
		text := strings.Replace(c.Text, c.Value, s.Value, 1)
		list := say.Read(text, w.now)
		if text == c.Text || len(list) == 0 {
			return nil
		}
		list[0].Sure, list[0].Old = true, s.Old
		w.f.Text, w.list = text, list
		return nil
	}
	return nil
}

// commonValidity returns the validity period of a fact if all its statements have the same one.
func commonValidity(list []say.Triple) (from, until time.Time) {
	for _, s := range list {
		switch {
		case s.Past || s.Ended:
			return time.Time{}, time.Time{}
		case s.From.IsZero() && s.Until.IsZero():
		case from.IsZero() && until.IsZero():
			from, until = s.From, s.Until
		}
	}
	return from, until
}

// retireAllTx retires the facts that the new fact corrects. It stores the uncorrected parts of an
// older fact as new facts. If the new fact becomes valid in the future, the older fact is kept
// until then.
func (w *conflictCheck) retireAllTx() (retired []Fact, err error) {
	later := w.f.ValidFrom.After(w.f.CreatedAt)
	for _, id := range w.order {
		old, err := factByID(w.tx, id)
		if err != nil {
			return nil, err
		}
		retired = append(retired, old)
		o := &retired[len(retired)-1]
		if later {
			if _, err := w.tx.Exec(`UPDATE claimed SET next = ? WHERE fact = ?`, w.f.ID, id); err != nil {
				return nil, fmt.Errorf("knowledge: retire fact: %w", err)
			}
			o.ValidUntil = w.f.ValidFrom
			continue
		}
		if err := w.b.retireTx(w.tx, o, w.f.ID, w.f.CreatedAt); err != nil {
			return nil, err
		}
		if err := w.keepUncorrectedTx(old); err != nil {
			return nil, err
		}
	}
	return retired, nil
}

// keepUncorrectedTx keeps the parts of a retired fact that were not corrected.
func (w *conflictCheck) keepUncorrectedTx(old Fact) error {
	wrong := w.wrong[old.ID]
	all, err := allClaims(w.tx, old.ID)
	if err != nil || slices.Contains(wrong, -1) {
		return err
	}
	var said []string // store each part only once, even if it makes several claims
	for _, c := range all {
		if slices.Contains(wrong, c.n) {
			said = append(said, c.Text)
		}
	}
	for _, c := range all {
		if slices.Contains(said, c.Text) || c.Text == "" {
			continue
		}
		said = append(said, c.Text)
		if err := w.storePartTx(old, c.Text); err != nil {
			return err
		}
	}
	for _, text := range say.Unread(old.Text, w.statedAt(old)) {
		if err := w.storePartTx(old, text); err != nil {
			return err
		}
	}
	return nil
}

// statedAt returns the creation time of an older fact, in the time zone of the new fact.
func (w *conflictCheck) statedAt(old Fact) time.Time { return old.CreatedAt.In(w.now.Location()) }

// storePartTx stores one part of an older fact as a separate fact. Relative times in it are resolved
// against the creation time of the older fact.
func (w *conflictCheck) storePartTx(old Fact, text string) error {
	list := say.Read(text, w.statedAt(old))
	f := old
	f.ID, f.Text, f.RetiredAt, f.RetiredBy = shortid.New("f"), text, time.Time{}, ""
	f.ValidFrom, f.ValidUntil = commonValidity(list)
	f.setKind(list, w.statedAt(old))
	if err := w.b.insertTx(w.tx, f, list); err != nil {
		return err
	}
	if _, err := w.tx.Exec(`UPDATE claimed SET split = ? WHERE fact = ?`, w.f.ID, f.ID); err != nil {
		return fmt.Errorf("knowledge: retire fact: %w", err)
	}
	w.parts = append(w.parts, f.ID)
	return nil
}
