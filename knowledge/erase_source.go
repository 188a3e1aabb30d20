package knowledge

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"hob/platform/provenance"
	"hob/platform/provenance/origins"
	"hob/platform/store"
)

// sourceKinds returns the kinds of origins (provenance.Origin) that correspond to a kind of
// Doc.Source.
func sourceKinds(kind string) []string {
	switch kind {
	case "url":
		return []string{"web", "search"}
	case "file":
		return []string{"file"}
	case "mail":
		return []string{"mail", "message"}
	case "event", "session", "import", "browser":
		return []string{}
	}
	return nil
}

// BrowserSource is the source of all browser data, including cookies. The package that owns the
// browser folder removes the data. No row has this source.
const BrowserSource = "browser:all"

// planBySource collects the rows from a source, and the rows created by turns that had read the
// source.
func (b *Base) planBySource(q store.Querier, f ForgetRequest, source string, g *ErasurePlan) error {
	kind, name, ok := strings.Cut(source, ":")
	kinds := sourceKinds(kind)
	if !ok || kinds == nil || strings.TrimSpace(name) == "" {
		return fmt.Errorf("%w, not %q", ErrSourceUnknown, source)
	}
	if kind == "browser" && (source != BrowserSource || f.isRealmBound()) {
		return fmt.Errorf("%w, not %q", ErrSourceUnknown, source)
	}
	if kind == "file" {
		name = b.expandPath(name)
		source = "file:" + name
	}
	ours, err := b.addConversation(q, f, kind, name, g)
	if err != nil || !ours {
		return err
	}
	g.Erasure.Sources = []string{source}
	if f.isRealmBound() {
		g.Erasure.Realm = f.Realm
	}
	if err := b.factsFrom(q, f, source, g); err != nil {
		return err
	}
	if err := b.rowsFrom(q, f, kind, name, source, g); err != nil {
		return err
	}
	labels := b.originLabels(kind, name)
	return b.addDerivedRows(q, f, g, func(o provenance.Origin) bool {
		return slices.Contains(g.Erasure.Events, o.Event) || slices.Contains(kinds, o.Kind) && slices.Contains(labels, o.Label) ||
			kind == "session" && o.Kind == "conversation" && slices.Contains(labels, o.Label)
	})
}

// addConversation adds the events and calls of a turn or conversation. It returns false if the turn belongs to
// another realm.
func (b *Base) addConversation(q store.Querier, f ForgetRequest, kind, name string, g *ErasurePlan) (ours bool, err error) {
	var events []string
	switch kind {
	case "event":
		events = []string{name}
	case "session":
		if b.opt.Events != nil {
			if events, err = b.opt.Events(q, name); err != nil {
				return false, err
			}
		}
	default:
		return true, nil
	}
	if f.isRealmBound() {
		if ours, err = b.inRealm(q, f.Realm, kind, name); err != nil || !ours {
			return false, err
		}
	}
	for i := 0; b.opt.Below != nil && i < len(events); i++ {
		below, err := b.opt.Below(q, events[i])
		if err != nil {
			return false, err
		}
		for _, ev := range below {
			if !slices.Contains(events, ev) {
				events = append(events, ev)
			}
		}
	}
	g.Erasure.Events = events
	if kind == "session" {
		g.Erasure.Sessions = []string{name}
	}
	g.here = f.Asking != "" && slices.Contains(events, f.Asking)
	if b.opt.Calls == nil {
		return true, nil
	}
	if g.Erasure.Calls, err = b.opt.Calls(q, events); err != nil {
		return false, err
	}
	g.own = slices.Clone(g.Erasure.Calls)
	return true, nil
}

// inRealm reports whether a turn or conversation exists and all its rows belong to the realm.
func (b *Base) inRealm(q store.Querier, realm, kind, name string) (bool, error) {
	column := "source"
	if kind == "session" {
		column = "grp"
	} else {
		name = "event:" + name
	}
	var all, others int
	err := q.QueryRow(`SELECT count(*), coalesce(sum(realm <> ?), 0) FROM docs WHERE kind = ? AND `+column+` = ?`, realm, KindTurn, name).Scan(&all, &others)
	if err != nil {
		return false, fmt.Errorf("knowledge: erase data: %w", err)
	}
	return all > 0 && others == 0, nil
}

// rowsFrom adds the rows of a source, except facts.
func (b *Base) rowsFrom(q store.Querier, f ForgetRequest, kind, name, source string, g *ErasurePlan) error {
	rows, err := queryChanges(q, `SELECT 0, d.n, 0, `+docOrEmpty+` FROM docs d WHERE d.source = ? OR ? = 'session' AND d.grp = ? AND d.kind = ? ORDER BY d.n`, source, kind, name, KindTurn)
	if err != nil {
		return fmt.Errorf("knowledge: erase data: %w", err)
	}
	if b.opt.Parts != nil {
		parts, err := b.opt.Parts(q, source)
		if err != nil {
			return err
		}
		for _, p := range parts {
			more, err := queryChanges(q, `SELECT 0, d.n, 0, `+docOrEmpty+` FROM docs d WHERE d.kind = ? AND d.grp = ? ORDER BY d.n`, KindChunk, p)
			if err != nil {
				return fmt.Errorf("knowledge: erase data: %w", err)
			}
			rows = append(rows, more...)
		}
	}
	for _, c := range rows {
		if c.Doc.Kind != KindFact && c.Doc.Kind != KindRetired && f.mayErase(c.Doc.Kind, c.Doc.Realm) {
			g.Docs = append(g.Docs, c.Doc)
		}
	}
	return nil
}

// expandPath returns path as an absolute path.
func (b *Base) expandPath(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && b.opt.Home != "" {
		return filepath.Join(b.opt.Home, rest)
	}
	return path
}

// originLabels returns the labels of the origins that a source may have. Paths in the home folder
// are shortened with ~, and long names are truncated.
func (b *Base) originLabels(kind, name string) (out []string) {
	names := []string{name}
	if rest, ok := strings.CutPrefix(name, b.opt.Home+"/"); ok && kind == "file" && b.opt.Home != "" {
		names = append(names, "~/"+rest)
	}
	for _, n := range names {
		out = append(out, provenance.Join([]provenance.Origin{{Kind: kind, Label: n}})[0].Label)
	}
	return out
}

// factsFrom adds the facts of a source and of the erased events.
func (b *Base) factsFrom(q store.Querier, f ForgetRequest, source string, g *ErasurePlan) error {
	all, err := queryFacts(q, `SELECT `+factColumns+` FROM facts WHERE source = ? OR event <> '' ORDER BY n`, source)
	if err != nil {
		return fmt.Errorf("knowledge: erase data: %w", err)
	}
	for _, one := range all {
		if one.Source != source && !slices.Contains(g.Erasure.Events, one.Event) || !f.mayErase(KindFact, one.Realm) {
			continue
		}
		if err := b.withOlder(q, one, g, false); err != nil {
			return err
		}
	}
	return nil
}

// addDerivedRows adds the rows that were derived from the source, according to their origins.
// Derived facts and results are erased as well; other derived rows are only listed. It skips calls
// of other agents.
func (b *Base) addDerivedRows(q store.Querier, f ForgetRequest, g *ErasurePlan, is func(provenance.Origin) bool) error {
	made, err := withOrigin(q, is)
	if err != nil {
		return fmt.Errorf("knowledge: erase data: %w", err)
	}
	for _, m := range made {
		switch m.kind {
		case origins.Call, origins.Result:
			if !f.isRealmBound() && !slices.Contains(g.Erasure.Calls, m.ref) {
				g.Erasure.Calls = append(g.Erasure.Calls, m.ref)
			}
		case origins.Row:
			if err := b.madeRow(q, f, m.ref, g); err != nil {
				return err
			}
		}
	}
	if f.Asking == "" || b.opt.Calls == nil {
		return nil
	}
	asking, err := b.opt.Calls(q, []string{f.Asking})
	g.own = append(g.own, asking...)
	return err
}

func (b *Base) madeRow(q store.Querier, f ForgetRequest, ref string, g *ErasurePlan) error {
	one, err := factByID(q, ref)
	if err == nil && f.mayErase(KindFact, one.Realm) {
		return b.withOlder(q, one, g, false)
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	rows, err := queryChanges(q, `SELECT 0, d.n, 0, `+docOrEmpty+` FROM docs d WHERE d.ref = ?`, ref)
	if err != nil {
		return fmt.Errorf("knowledge: erase data: %w", err)
	}
	for _, c := range rows {
		if f.mayErase(c.Doc.Kind, c.Doc.Realm) && !slices.ContainsFunc(g.Docs, func(d Doc) bool { return d.Kind == c.Doc.Kind && d.Ref == c.Doc.Ref }) {
			g.Made = append(g.Made, c.Doc)
		}
	}
	return nil
}

type createdRow struct{ kind, ref string }

// withOrigin lists the rows with an origin for which the function returns true.
func withOrigin(q store.Querier, is func(provenance.Origin) bool) (out []createdRow, err error) {
	rows, err := q.Query(`SELECT kind, ref, list FROM origins`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var m createdRow
		var raw string
		var list []provenance.Origin
		if err := rows.Scan(&m.kind, &m.ref, &raw); err != nil {
			return nil, err
		}
		if json.Unmarshal([]byte(raw), &list) == nil && slices.ContainsFunc(list, is) {
			out = append(out, m)
		}
	}
	return out, rows.Err()
}
