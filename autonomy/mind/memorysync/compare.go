package memorysync

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/erase"
	"hob/platform/text/memoryfile"
	"hob/platform/text/textnorm"
)

// Limits of Hob's list and of one transaction.
const (
	maxListed   = 300    // facts of all files of a target
	maxListSize = 60_000 // bytes of the list of a file
	reserved    = 10_000 // bytes of a file that the list leaves free
	maxText     = 1_000  // bytes of a fact that is listed
	maxAdded    = 50     // new lines per transaction, which blocks other writers
)

// States of a line in the table.
const (
	agreed   = "agreed"
	adding   = "adding"   // Hob is about to write the line
	removing = "removing" // Hob is about to remove the line
)

// lineRow is a row of the table memory_lines.
type lineRow struct {
	digest, fact string
	listed       bool
	state        string
}

func readLines(q store.Querier, file string) (out []lineRow, err error) {
	rows, err := q.Query(`SELECT digest, fact, listed, state FROM memory_lines WHERE file = ? ORDER BY pos`, file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var r lineRow
		if err := rows.Scan(&r.digest, &r.fact, &r.listed, &r.state); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// digestEntry names a line. White space does not count.
func digestEntry(e memoryfile.Entry) string {
	h := sha256.Sum256([]byte(e.String()))
	return hex.EncodeToString(h[:16])
}

// entryOf returns the line of a fact.
func entryOf(f knowledge.Fact) memoryfile.Entry {
	switch {
	case f.Provenance.Tainted():
		return memoryfile.NewEntry(memoryfile.Outside, f.Text)
	case f.Kind == knowledge.KindObservation || f.Provenance != provenance.Owner:
		return memoryfile.NewEntry(memoryfile.Inferred, f.Text)
	}
	return memoryfile.NewEntry(memoryfile.Own, f.Text)
}

// comparison synchronizes the files of a target in one transaction.
type comparison struct {
	s     *Syncer
	tx    *store.Tx
	t     Target
	files []*syncedFile
	now   time.Time

	added      int
	changed    int
	statements int  // changes of statements that are not facts, too
	more       bool // some new lines were left for the next transaction
	edit       knowledge.FileEdit
	hidden     map[string]*knowledge.Fact // untrusted facts with hidden characters, by their visible words; see knownFact
}

func (c *comparison) compareFiles() error {
	for _, f := range c.files {
		var err error
		if f.rows, err = readLines(c.tx, f.key); err != nil {
			return err
		}
	}
	gone := map[*syncedFile][]int{}
	for _, f := range c.files {
		if f.broken {
			continue
		}
		f.matchRows()
		missing, err := c.adoptItems(f)
		if err != nil {
			return err
		}
		gone[f] = missing
	}
	if !c.more { // otherwise, a missing line may have moved to a place that the next transaction reads
		if err := c.editFiles(gone); err != nil {
			return err
		}
	}
	for _, f := range c.files {
		if err := c.storeRows(f); err != nil {
			return err
		}
	}
	return c.journalTx()
}

// editFiles retires the facts of missing lines and edits the files to follow the memory.
func (c *comparison) editFiles(gone map[*syncedFile][]int) error {
	for _, f := range c.files {
		if err := c.withdrawMissing(f, gone[f]); err != nil {
			return err
		}
	}
	for _, f := range c.files {
		if err := c.followMemory(f); err != nil {
			return err
		}
	}
	return c.listFacts()
}

// matchRows assigns the rows to the lines with the same digest.
func (f *syncedFile) matchRows() {
	byDigest := map[string][]int{}
	for i, r := range f.rows {
		byDigest[r.digest] = append(byDigest[r.digest], i)
	}
	for i, it := range f.form.Items {
		d := digestEntry(it.Entry)
		if list := byDigest[d]; len(list) > 0 {
			f.assignRow(i, list[0])
			byDigest[d] = list[1:]
		}
	}
	f.rowGaps, f.itemGaps = gapsOf(len(f.rows), func(i int) bool { return f.taken[i] }), gapsOf(len(f.facts), func(i int) bool { return f.facts[i] != "" })
}

// gapsOf returns for each of n elements how many elements before it did not change. A row and a line
// with the same number stand at the same place.
func gapsOf(n int, unchanged func(int) bool) []int {
	out, gap := make([]int, n), 0
	for i := range out {
		out[i] = gap
		if unchanged(i) {
			gap++
		}
	}
	return out
}

func (f *syncedFile) assignRow(item, row int) { f.facts[item], f.taken[row] = f.rows[row].fact, true }

// isIntact reports whether missing lines were removed by the user. If Hob's list has lost its
// beginning or its end, or the file is empty, it was rather cut off or deleted.
func (f *syncedFile) isIntact() bool {
	listed := slices.ContainsFunc(f.rows, func(r lineRow) bool { return r.listed && r.state == agreed })
	return strings.TrimSpace(f.text) != "" && (!listed || f.form.HasList())
}

// adoptItems stores the facts of lines that have no row. It returns the rows whose lines are missing.
func (c *comparison) adoptItems(f *syncedFile) (missing []int, err error) {
	for i, r := range f.rows {
		if !f.taken[i] && r.state == agreed && f.isIntact() {
			missing = append(missing, i)
		}
	}
	for i, it := range f.form.Items {
		if f.facts[i] != "" {
			continue
		}
		if strings.Contains(it.Text, erase.Mark) {
			missing = c.adoptRedacted(f, i, missing)
			continue
		}
		if cut, err := c.isCutOff(f, it); cut || err != nil {
			if err != nil {
				return nil, err
			}
			if it.Listed {
				f.edit.Remove[it.Line] = true
			}
			continue
		}
		if c.added >= maxAdded {
			c.more = true
			continue
		}
		n, err := c.changedRow(f, i, missing)
		if err != nil {
			return nil, err
		}
		if err := c.adoptItem(f, i, n); err != nil {
			return nil, err
		}
		if n >= 0 && f.facts[i] != "" {
			f.taken[n] = true
			missing = slices.DeleteFunc(missing, func(k int) bool { return k == n })
		}
	}
	return missing, nil
}

// isCutOff reports whether a line is the beginning of a line that a damaged file has lost.
func (c *comparison) isCutOff(f *syncedFile, it memoryfile.Item) (bool, error) {
	if f.isIntact() {
		return false, nil
	}
	for i, r := range f.rows {
		if f.taken[i] {
			continue
		}
		old, err := c.validFact(r.fact)
		if err != nil {
			return false, err
		}
		if old == nil {
			continue
		}
		e := entryOf(*old)
		if strings.HasPrefix(e.Text, it.Text) && e.Text != it.Text || strings.HasPrefix(e.String(), it.String()) && e != it.Entry { // the second case: within the mark
			return true, nil
		}
	}
	return false, nil
}

// adoptRedacted assigns a line that an erasure redacted to its fact, or removes it from the list.
func (c *comparison) adoptRedacted(f *syncedFile, item int, missing []int) []int {
	for _, n := range missing {
		if f.rowGaps[n] != f.itemGaps[item] {
			continue
		}
		f.assignRow(item, n)
		return slices.DeleteFunc(missing, func(k int) bool { return k == n })
	}
	if f.form.Items[item].Listed {
		f.edit.Remove[f.form.Items[item].Line] = true
	}
	return missing
}

// changedRow returns the row of which a line is a new wording, or -1. The row has the same text with
// another mark, or it stood at the same place and has a topic word in common with the line.
func (c *comparison) changedRow(f *syncedFile, item int, missing []int) (found int, err error) {
	text, found := f.form.Items[item].Text, -1
	words := knowledge.TopicWords(text)
	for _, n := range missing {
		old, err := c.validFact(f.rows[n].fact)
		if err != nil {
			return -1, err
		}
		switch {
		case old == nil:
		case entryOf(*old).Text == text:
			return n, nil
		case found < 0 && f.rowGaps[n] == f.itemGaps[item] && slices.ContainsFunc(knowledge.TopicWords(old.Text), func(w string) bool {
			return slices.ContainsFunc(words, func(o string) bool { return strings.EqualFold(o, w) })
		}):
			found = n
		}
	}
	return found, nil
}

// adoptItem stores the fact of a line. n is the row that it replaces, or -1.
func (c *comparison) adoptItem(f *syncedFile, item, n int) (err error) {
	e := f.form.Items[item].Entry
	var old *knowledge.Fact
	if n >= 0 {
		if old, err = c.validFact(f.rows[n].fact); err != nil {
			return err
		}
	}
	known := old
	if old == nil || entryOf(*old).Text != e.Text {
		if known, err = c.knownFact(e.Text); err != nil {
			return err
		}
	}
	if known != nil { // with any mark, because a line does not change the origin of a fact
		f.facts[item] = known.ID
		return nil
	}
	if old != nil && isStatement(old.ID) {
		f.facts[item] = old.ID
		c.statements++
		return c.changeStatement(f, old.ID, e.Text)
	}
	r, err := c.s.o.Base.RememberTx(c.tx, c.newFact(f, e, old))
	switch {
	case errors.Is(err, knowledge.ErrTooLong), errors.Is(err, knowledge.ErrEmpty), errors.Is(err, knowledge.ErrFactKind):
		return nil // the line is only in the file
	case err != nil:
		return err
	}
	f.facts[item] = r.Fact.ID
	if r.Known {
		return nil
	}
	f.edited = true
	c.added++
	c.edit.Added = append(c.edit.Added, r.Fact.ID)
	if old != nil {
		c.changed++
		if _, err = c.s.o.Base.WithdrawTx(c.tx, old.ID, r.Fact.ID, r.Fact.CreatedAt); err != nil {
			return err
		}
		if err := c.changeSameStatement(f, *old, e.Text); err != nil {
			return err
		}
	}
	return c.addStatement(f, e)
}

// knownFact returns the valid fact that a line states, or nil. A line has no hidden characters, so an
// untrusted fact that has some is compared without them: otherwise, they would let its sender choose
// that a copy of the line is the user's.
func (c *comparison) knownFact(text string) (*knowledge.Fact, error) {
	known, err := c.s.o.Base.FactWithText(c.tx, c.t.Realm, text)
	if known == nil && err == nil {
		known, err = c.statementSaying(text)
	}
	if known != nil || err != nil {
		return known, err
	}
	if c.hidden == nil {
		all, err := c.s.o.Base.NewestFacts(c.tx, c.t.Realm, -1)
		if err != nil {
			return nil, err
		}
		c.hidden = map[string]*knowledge.Fact{}
		for _, f := range all {
			if shown := entryOf(f.Fact).Text; f.Provenance.Tainted() && shown != f.Text {
				c.hidden[strings.Join(textnorm.FoldedWords(shown), " ")] = &f.Fact
			}
		}
	}
	return c.hidden[strings.Join(textnorm.FoldedWords(text), " ")], nil
}

// newFact returns the fact of a line. old is the fact of which it is a new wording, or nil.
func (c *comparison) newFact(f *syncedFile, e memoryfile.Entry, old *knowledge.Fact) knowledge.Fact {
	out := knowledge.Fact{Text: e.Text, Provenance: provenance.Owner, Realm: c.t.Realm, Source: "file:" + f.path, CreatedAt: c.now}
	switch e.Mark {
	case memoryfile.Outside:
		out.Provenance, out.Origins = provenance.Outside, []provenance.Origin{{Kind: "file", Label: filepath.Base(f.path)}}
		if old != nil && len(old.Origins) > 0 {
			out.Origins = old.Origins
		}
	case memoryfile.Inferred:
		out.Provenance, out.Kind = provenance.Hob, knowledge.KindObservation
	}
	return out
}

// validFact returns a fact that is valid, or nil.
func (c *comparison) validFact(id string) (*knowledge.Fact, error) {
	f, err := c.factOf(id)
	if errors.Is(err, knowledge.ErrNotFound) || err == nil && !f.RetiredAt.IsZero() {
		return nil, nil
	}
	return &f, err
}

// hasLine reports whether a line of a file stands for a fact.
func (c *comparison) hasLine(id string) bool {
	return slices.ContainsFunc(c.files, func(f *syncedFile) bool {
		return slices.Contains(f.facts, id) || f.broken && slices.ContainsFunc(f.rows, func(r lineRow) bool { return r.fact == id })
	})
}

// withdrawMissing retires the facts whose lines the user removed.
func (c *comparison) withdrawMissing(f *syncedFile, missing []int) error {
	for _, n := range missing {
		id := f.rows[n].fact
		old, err := c.validFact(id)
		if err != nil {
			return err
		}
		if old == nil || c.hasLine(id) || strings.Contains(old.Text, erase.Mark) && f.rows[n].digest != digestEntry(entryOf(*old)) { // the last one was redacted
			continue
		}
		if isStatement(id) {
			c.statements++
			if err := c.changeStatement(f, id, ""); err != nil {
				return err
			}
			continue
		}
		if err := c.changeSameStatement(f, *old, ""); err != nil {
			return err
		}
		ok, err := c.s.o.Base.WithdrawTx(c.tx, id, "", c.now)
		if err != nil {
			return err
		}
		if ok {
			f.edited = true
			c.edit.Removed = append(c.edit.Removed, knowledge.WithdrawnFact{Fact: id, At: store.Millis(c.now)})
		}
	}
	return nil
}

// followMemory changes the lines of facts that were corrected, retired or forgotten.
func (c *comparison) followMemory(f *syncedFile) error {
	if f.broken {
		return nil
	}
	for i, it := range f.form.Items {
		id := f.facts[i]
		if id == "" {
			continue
		}
		now, err := c.validSuccessor(id)
		if err != nil {
			return err
		}
		switch {
		case now == nil || now.ID != id && c.hasLine(now.ID):
			f.edit.Remove[it.Line], f.facts[i] = true, ""
		case now.ID != id || (entryOf(*now).Mark != it.Mark || isStatement(id)) && entryOf(*now).String() != it.String(): // a statement keeps its ID when it changes
			f.edit.Replace[it.Line], f.facts[i] = entryOf(*now), now.ID
		}
	}
	return nil
}

// validSuccessor returns the valid fact that a fact is or was replaced by, or nil.
func (c *comparison) validSuccessor(id string) (*knowledge.Fact, error) {
	for range 20 {
		f, err := c.factOf(id)
		switch {
		case errors.Is(err, knowledge.ErrNotFound), err == nil && !f.RetiredAt.IsZero() && f.RetiredBy == "":
			return nil, nil
		case err != nil || f.RetiredAt.IsZero():
			return &f, err
		}
		id = f.RetiredBy
	}
	return nil, nil
}
