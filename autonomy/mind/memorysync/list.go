package memorysync

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"hob/autonomy/bus"
	"hob/autonomy/undo"
	"hob/knowledge"
	"hob/platform/text/memoryfile"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// listFacts adds the statements and the newest facts that have no line to Hob's lists, and removes older ones if there
// are too many.
func (c *comparison) listFacts() error {
	newest, err := c.s.o.Base.NewestFacts(c.tx, c.t.Realm, maxListed)
	if err != nil {
		return err
	}
	said, err := c.unstatedElsewhere()
	if err != nil {
		return err
	}
	newest = append(said, newest...)
	room := map[*syncedFile]int{}
	for _, f := range c.files {
		room[f] = min(maxListSize, memoryfile.MaxSize-reserved-len(memoryfile.UserText(f.text)))
	}
	keep := map[string]bool{}
	var fresh []knowledge.ListedFact
	for _, n := range newest {
		f, e := c.fileOf(n), entryOf(n.Fact)
		size := len(e.String()) + 4
		has := c.hasLine(n.ID)
		if room[f] < size || !has && (len(e.Text) > maxText || e.Text == "") {
			continue
		}
		room[f] -= size
		keep[n.ID] = true
		if !has {
			fresh = append(fresh, n)
		}
	}
	for _, f := range c.files {
		for i, it := range f.form.Items {
			if it.Listed && f.facts[i] != "" && !keep[f.facts[i]] && !f.broken {
				f.edit.Remove[it.Line], f.facts[i] = true, ""
			}
		}
	}
	for _, n := range slices.Backward(fresh) { // oldest first
		if f := c.fileOf(n); !f.broken {
			f.edit.Append = append(f.edit.Append, entryOf(n.Fact))
			f.appended = append(f.appended, n.ID)
		}
	}
	return nil
}

// fileOf returns the file in which a fact has its line, or otherwise belongs.
func (c *comparison) fileOf(n knowledge.ListedFact) *syncedFile {
	for _, f := range c.files {
		if slices.Contains(f.facts, n.ID) {
			return f
		}
	}
	for _, f := range c.files {
		if f.aboutUser == n.AboutUser {
			return f
		}
	}
	return c.files[0]
}

// storeRows stores the rows of a file as they are after the edit.
func (c *comparison) storeRows(f *syncedFile) error {
	if f.broken {
		return nil
	}
	var rows []lineRow
	kept := map[string]int{}
	add := func(e memoryfile.Entry, fact string, listed bool, state string) {
		r := lineRow{digestEntry(e), fact, listed, state}
		rows = append(rows, r)
		kept[r.digest]++
	}
	for i, it := range f.form.Items {
		e, replaced := f.edit.Replace[it.Line]
		switch {
		case f.facts[i] == "":
		case replaced:
			add(e, f.facts[i], it.Listed, adding)
		default:
			add(it.Entry, f.facts[i], it.Listed, agreed)
		}
	}
	for i, e := range f.edit.Append {
		add(e, f.appended[i], true, adding)
	}
	for i, r := range f.rows {
		if c.more && !f.taken[i] { // to be compared again
			rows = append(rows, r)
		}
	}
	for i, it := range f.form.Items { // lines that vanish from the file
		_, replaced := f.edit.Replace[it.Line]
		if d := digestEntry(it.Entry); (f.edit.Remove[it.Line] || replaced) && kept[d] == 0 {
			rows = append(rows, lineRow{d, f.previousFact(i), it.Listed, removing})
		}
	}
	if slices.Equal(rows, f.rows) {
		return nil
	}
	if _, err := c.tx.Exec(`DELETE FROM memory_lines WHERE file = ?`, f.key); err != nil {
		return fmt.Errorf("store lines: %w", err)
	}
	for pos, r := range rows {
		if _, err := c.tx.Exec(`INSERT INTO memory_lines (file, pos, digest, fact, listed, state) VALUES (?, ?, ?, ?, ?, ?)`, f.key, pos, r.digest, r.fact, r.listed, r.state); err != nil {
			return fmt.Errorf("store lines: %w", err)
		}
	}
	return nil
}

// previousFact returns the fact of a line before the edit, or "".
func (f *syncedFile) previousFact(item int) string {
	d := digestEntry(f.form.Items[item].Entry)
	for _, r := range f.rows {
		if r.digest == d {
			return r.fact
		}
	}
	return ""
}

// journalTx records the user's edit so that it can be undone.
func (c *comparison) journalTx() error {
	if len(c.edit.Added)+len(c.edit.Removed)+len(c.edit.Statements) == 0 {
		return nil
	}
	var names, counts []string
	for _, f := range c.files {
		if f.edited {
			names = append(names, filepath.Base(f.path))
		}
	}
	for _, n := range []struct {
		n         int
		one, many string
	}{
		{len(c.edit.Added) - c.changed, "fact added", "facts added"},
		{c.changed, "fact changed", "facts changed"},
		{len(c.edit.Removed), "fact retired", "facts retired"},
		{c.statements, "statement changed", "statements changed"},
	} {
		if n.n > 0 {
			counts = append(counts, textnorm.CountNoun(n.n, n.one, n.many))
		}
	}
	text := "You edited " + strings.Join(names, " and ") + ": " + strings.Join(counts, ", ") + "."
	return c.s.o.Journal(c.tx, undo.Action{
		Event: bus.NewID(), Number: 1, Tool: knowledge.FileEditTool, Text: text, Source: "file", Actor: "owner", Rule: "the owner's own edit of " + strings.Join(names, " and "),
		Undo: tools.NewUndo("revert the edit of "+strings.Join(names, " and "), c.edit),
	})
}
