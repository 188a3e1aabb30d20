package knowledge

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"hob/platform/store"
	"hob/platform/text/textnorm"
	say "hob/platform/text/triples"
)

// Operations of a consolidation.
const (
	MergeDuplicate  = "merge"  // a fact that says nothing more than another one
	CloseSuperseded = "close"  // a fact that a newer one contradicts
	ExpireEvent     = "expire" // an event whose date has passed
)

// ConsolidateTool is the name under which consolidations are in the journal. The tool cannot be
// called.
const ConsolidateTool = "consolidate_memory"

// FactChange is one change of a consolidation: it retires a fact. It has only ids, so that the undo
// journal keeps no text of a forgotten fact.
type FactChange struct {
	Op   string `json:"op"`
	Fact string `json:"fact"`
	By   string `json:"by,omitempty"` // the fact that replaces it
	// At is the time from which the fact is retired, in milliseconds since 1970.
	At int64 `json:"at"`
	// Parts are the facts that keep the uncorrected parts of the fact.
	Parts []string `json:"parts,omitempty"`

	wrong []int // claims of the fact that By contradicts
}

// ErrErased means that data was erased after the changes were planned. Plan them again.
var ErrErased = errors.New("facts were erased in the meantime")

// ConsolidationPlan is a list of changes, valid while no erasure begins or ends.
type ConsolidationPlan struct {
	Changes []FactChange
	mark    string
}

// PlanConsolidation lists the changes that tidy the memory at the given time: it merges duplicates,
// closes superseded facts and retires events whose date has passed. Facts of different realms stay
// apart. An untrusted fact never replaces a trusted one, a conclusion of Hob never a statement, and
// pinned facts stay. Each fact is retired at most once, by a fact that stays. The plan needs about
// 500 bytes of memory per fact.
func (b *Base) PlanConsolidation(q store.Querier, now time.Time) (p ConsolidationPlan, err error) {
	if p.mark, err = ErasureMark(q); err != nil {
		return p, err
	}
	m, err := loadLiveFacts(q)
	if err != nil {
		return p, fmt.Errorf("knowledge: plan consolidation: %w", err)
	}
	m.now = now
	m.expireEvents()
	m.mergeSameText()
	m.compareClaims()
	p.Changes = m.changes
	return p, nil
}

// liveFact is a valid fact with its claims.
type liveFact struct {
	Fact

	number  int  // position by age
	pending bool // a fact that becomes valid in the future replaces it
	gone    bool // the plan retires it
	stays   bool // the plan retires another fact because of it
	claims  []claim
}

// liveFacts holds the valid facts of all realms and the changes planned so far.
type liveFacts struct {
	now     time.Time
	list    []*liveFact // oldest first
	names   map[string]roleNames
	changes []FactChange
}

func loadLiveFacts(q store.Querier) (m *liveFacts, err error) {
	m = &liveFacts{names: map[string]roleNames{}}
	byID := map[string]*liveFact{}
	if err := m.readFacts(q, byID); err != nil {
		return nil, err
	}
	if err := readClaims(q, byID); err != nil {
		return nil, err
	}
	for _, f := range m.list {
		if m.names[f.Realm] == nil {
			if m.names[f.Realm], err = loadRoleNames(q, f.Realm, true); err != nil {
				return nil, err
			}
		}
	}
	m.nameSubjects()
	return m, nil
}

func (m *liveFacts) readFacts(q store.Querier, byID map[string]*liveFact) (err error) {
	rows, err := q.Query(`SELECT ` + factColumns + `, EXISTS (SELECT 1 FROM claimed c WHERE c.fact = id AND c.next <> '') FROM facts WHERE retired_at = 0 ORDER BY created_at, n`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		f := &liveFact{number: len(m.list)}
		if f.Fact, err = scanFact(extendedRow{rows, []any{&f.pending}}); err != nil {
			return err
		}
		byID[f.ID] = f
		m.list = append(m.list, f)
	}
	return rows.Err()
}

// extendedRow scans a row that has further columns after those of a fact.
type extendedRow struct {
	row  interface{ Scan(...any) error }
	more []any
}

func (r extendedRow) Scan(dest ...any) error { return r.row.Scan(append(dest, r.more...)...) }

func readClaims(q store.Querier, byID map[string]*liveFact) (err error) {
	rows, err := q.Query(`SELECT c.fact, c.n, c.subject, c.attr, c.value, c.old, c.flags, c.text FROM claims c JOIN facts f ON f.id = c.fact WHERE f.retired_at = 0 ORDER BY c.fact, c.n`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		c, err := scanClaim(rows)
		if err != nil {
			return err
		}
		if f := byID[c.fact]; f != nil {
			f.claims = append(f.claims, c)
		}
	}
	return rows.Err()
}

// expireEvents retires the events whose date has passed.
func (m *liveFacts) expireEvents() {
	for _, f := range m.list {
		if f.Kind == KindEvent && !f.Pinned && !f.ValidUntil.IsZero() && !f.ValidUntil.After(m.now) {
			f.gone = true
			m.changes = append(m.changes, FactChange{Op: ExpireEvent, Fact: f.ID, At: store.Millis(f.ValidUntil)})
		}
	}
}

// mergeSameText merges facts with the same words, apart from fillers.
func (m *liveFacts) mergeSameText() {
	same := map[string]*liveFact{}
	for _, f := range m.list {
		key := duplicateKey(f.Text)
		if f.gone || key == "" {
			continue
		}
		key = f.Realm + "\x00" + key
		o := same[key]
		switch {
		case o == nil:
			same[key] = f
		case f.isBetterThan(o) && m.mergeInto(o, f):
			same[key] = f
		default:
			m.mergeInto(f, o)
		}
	}
}

// isBetterThan reports whether f is the one to keep of two facts that state the same: the trusted
// one, then the one that the user stated. Of two equal ones, the older one stays.
func (f *liveFact) isBetterThan(o *liveFact) bool {
	rank := func(x *liveFact) (n int) {
		if !x.Provenance.Tainted() {
			n += 2
		}
		if x.Kind != KindObservation {
			n++
		}
		return n
	}
	return rank(f) > rank(o)
}

// mayReplace reports whether f may replace o.
func (f *liveFact) mayReplace(o *liveFact) bool {
	return f != o && !f.gone && !o.gone && !o.Pinned && !o.stays && !o.pending && f.Realm == o.Realm && (!f.Provenance.Tainted() || o.Provenance.Tainted()) &&
		(f.Kind != KindObservation || o.Kind == KindObservation)
}

// mergeInto retires f as a duplicate of keep, if that is allowed. Facts that are valid at different
// times are not duplicates.
func (m *liveFacts) mergeInto(f, keep *liveFact) bool {
	if !keep.mayReplace(f) || !f.ValidFrom.Equal(keep.ValidFrom) || !f.ValidUntil.Equal(keep.ValidUntil) {
		return false
	}
	m.retireFact(f, keep, FactChange{Op: MergeDuplicate, At: store.Millis(m.now)})
	return true
}

func (m *liveFacts) retireFact(f, by *liveFact, c FactChange) {
	f.gone, by.stays = true, true
	c.Fact, c.By = f.ID, by.ID
	m.changes = append(m.changes, c)
}

// compareClaims compares the facts about each subject: it closes a fact that a newer one
// contradicts, and merges a fact whose statements all occur, possibly with more detail, in another
// one.
func (m *liveFacts) compareClaims() {
	type topic struct{ realm, subject, attr string }
	about := map[topic][]*liveFact{}
	for _, f := range m.list {
		for _, c := range f.claims {
			t := topic{f.Realm, c.Subject.Key, comparableAttr(c.Attr)}
			if l := about[t]; c.Attr != "" && (len(l) == 0 || l[len(l)-1] != f) {
				about[t] = append(l, f)
			}
		}
	}
	for _, f := range m.list { // oldest first, so that the plan is the same each time
		for _, c := range f.claims {
			list := about[topic{f.Realm, c.Subject.Key, comparableAttr(c.Attr)}]
			m.compareFact(f, list[max(0, len(list)-maxCompared):])
		}
	}
}

// maxCompared limits how many facts about the same attribute of a subject are compared.
const maxCompared = 500

// comparableAttr returns the name of a group of attributes whose statements can contradict each
// other; see say.Corrects.
func comparableAttr(attr string) string {
	switch attr {
	case "lives_at":
		return "lives_in"
	case "drives":
		return "owns"
	case "dating":
		return "married_to"
	}
	return attr
}

// nameSubjects replaces the roles of people in the subjects of the claims by their names, where a
// role has only one name. "Ana" and "my sister" are then the same subject.
func (m *liveFacts) nameSubjects() {
	for _, f := range m.list {
		names := m.names[f.Realm]
		for i, c := range f.claims {
			if c.Subject.Key == say.Owner || c.Subject.Key == "" {
				continue
			}
			for _, role := range slices.Sorted(maps.Keys(names)) {
				if len(names[role]) != 1 {
					continue
				}
				for name := range names[role] {
					if key := swapName(f.claims[i].Subject.Key, role, name); len(key) > 0 {
						f.claims[i].Subject.Key = key[0]
					}
				}
			}
		}
	}
}

// compareFact compares f with facts about the same topic.
func (m *liveFacts) compareFact(f *liveFact, list []*liveFact) {
	for _, o := range list {
		if o == f || f.gone {
			continue
		}
		if wrong := m.contradictedClaims(f, o); len(wrong) > 0 && o.mayReplace(f) {
			m.retireFact(f, o, FactChange{Op: CloseSuperseded, At: store.Millis(o.CreatedAt), wrong: wrong})
			return
		}
		if f.isCoveredBy(o) && o.isPreferredTo(f) && m.mergeInto(f, o) {
			return
		}
	}
}

// isPreferredTo reports whether f is the one to keep if it states everything that o states: it says
// more, it is better, or it is older.
func (f *liveFact) isPreferredTo(o *liveFact) bool {
	return !f.isCoveredBy(o) || f.isBetterThan(o) || !o.isBetterThan(f) && f.number < o.number
}

// contradictedClaims returns the claims of f that the newer fact o contradicts.
func (m *liveFacts) contradictedClaims(f, o *liveFact) (wrong []int) {
	if !o.CreatedAt.After(f.CreatedAt) || o.ValidFrom.After(m.now) {
		return nil
	}
	for _, c := range f.claims {
		for _, n := range o.claims {
			if n.Attr != "" && c.Subject.Key == n.Subject.Key && !isRefinement(n.Triple, c.Triple) && say.Corrects(n.Triple, c.Triple, o.CreatedAt) {
				wrong = append(wrong, c.n)
				break
			}
		}
	}
	return wrong
}

// isCoveredBy reports whether o states everything that f states, with the same certainty.
func (f *liveFact) isCoveredBy(o *liveFact) bool {
	missing := slices.ContainsFunc(f.claims, func(c claim) bool {
		return c.Attr == "" || !slices.ContainsFunc(o.claims, func(d claim) bool {
			return c.Subject.Key == d.Subject.Key && (c.More || !d.More) && isRefinement(c.Triple, d.Triple)
		})
	})
	return !missing && len(f.claims) > 0 && len(say.Unread(f.Text, f.CreatedAt)) == 0
}

// ConsolidateTx makes planned changes and returns those that it made. It skips the facts that were
// changed or pinned since the plan was made, and returns ErrErased if data was erased since.
func (b *Base) ConsolidateTx(tx *store.Tx, p ConsolidationPlan) (done []FactChange, err error) {
	if mark, err := ErasureMark(tx); err != nil || mark != p.mark {
		return nil, cmp.Or(err, ErrErased)
	}
	for _, c := range p.Changes {
		ok, err := b.changeTx(tx, &c)
		if err != nil {
			return nil, fmt.Errorf("knowledge: consolidate %s: %w", c.Fact, err)
		}
		if ok {
			done = append(done, c)
		}
	}
	return done, nil
}

func (b *Base) changeTx(tx *store.Tx, c *FactChange) (bool, error) {
	f, err := changeableFact(tx, c.Fact, true)
	if f == nil || err != nil {
		return false, err
	}
	if c.By == "" {
		return true, b.retireTx(tx, f, "", store.Time(c.At))
	}
	by, err := changeableFact(tx, c.By, false)
	if by == nil || err != nil {
		return false, err
	}
	old := *f
	if err := b.retireTx(tx, f, by.ID, store.Time(c.At)); err != nil {
		return false, err
	}
	if c.Op == MergeDuplicate {
		_, err := tx.Exec(`UPDATE facts SET merged = 1 WHERE id = ?`, f.ID)
		return err == nil, err
	}
	w := newConflictCheck(b, tx, *by)
	w.wrong[old.ID] = c.wrong
	err = w.keepUncorrectedTx(old)
	c.Parts = w.parts
	return err == nil, err
}

// changeableFact returns a fact that is still valid, or nil. If loose is set, the fact must not be
// pinned.
func changeableFact(tx *store.Tx, id string, loose bool) (*Fact, error) {
	f, err := factByID(tx, id)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil || !f.RetiredAt.IsZero() || loose && f.Pinned {
		return nil, err
	}
	return &f, nil
}

// UndoConsolidationTx reverts changes and pins their facts, so that the next consolidation does not
// repeat them. It skips a change if one of its facts was changed or forgotten since, because the
// restored fact would contradict that. It returns the numbers of restored and of skipped facts.
func (b *Base) UndoConsolidationTx(tx *store.Tx, list []FactChange) (restored, left int, err error) {
	for _, c := range slices.Backward(list) { // the conclusions of a summary come after it
		ok := true
		if c.Op == AddSummary {
			err = b.removeSummaryTx(tx, c.Fact)
		} else if ok, err = b.revertChangeTx(tx, c); ok {
			restored++
		}
		if err != nil {
			return restored, left, fmt.Errorf("knowledge: undo consolidation of %s: %w", c.Fact, err)
		}
		if !ok {
			left++
		}
	}
	return restored, left, nil
}

func (b *Base) revertChangeTx(tx *store.Tx, c FactChange) (bool, error) {
	f, err := factByID(tx, c.Fact)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil || f.RetiredBy != c.By || store.Millis(f.RetiredAt) != c.At {
		return false, err
	}
	for _, id := range append(slices.Clone(c.Parts), c.By) {
		if id == "" {
			continue
		}
		if o, err := changeableFact(tx, id, false); o == nil || err != nil {
			return false, err
		}
	}
	for _, id := range c.Parts {
		if err := b.removeTx(tx, id); err != nil {
			return false, err
		}
	}
	if err := b.restoreFactTx(tx, f.ID); err != nil {
		return false, err
	}
	_, err = tx.Exec(`UPDATE facts SET pinned = 1 WHERE id IN (?, ?)`, f.ID, c.By)
	return err == nil, err
}

// restoreMergedTx restores the duplicates that were merged into erased facts and that were stated
// elsewhere.
func (b *Base) restoreMergedTx(tx *store.Tx, erased []string) error {
	for _, id := range erased {
		list, err := queryFacts(tx, `SELECT `+factColumns+` FROM facts WHERE retired_by = ? AND merged = 1`, id)
		if err != nil {
			return fmt.Errorf("knowledge: restore duplicates: %w", err)
		}
		for _, f := range list {
			if err := b.restoreFactTx(tx, f.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// DescribeChanges describes a consolidation by the numbers of its changes, by operation.
func DescribeChanges(counts map[string]int) string {
	var out []string
	for _, c := range []struct{ op, one, many string }{
		{MergeDuplicate, "duplicate merged", "duplicates merged"},
		{CloseSuperseded, "superseded fact closed", "superseded facts closed"},
		{ExpireEvent, "past event retired", "past events retired"},
		{Summarize, "conclusion summarized", "conclusions summarized"},
	} {
		if n := counts[c.op]; n > 0 {
			out = append(out, textnorm.CountNoun(n, c.one, c.many))
		}
	}
	return strings.Join(out, ", ")
}
