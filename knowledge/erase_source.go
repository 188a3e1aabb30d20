package knowledge

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/knowledge/store"
	"hob/platform/origins"
	"hob/platform/provenance"
)

// sourceKinds are the kinds of origins (provenance.Origin) that a source of a
// Doc stands for.
func sourceKinds(kind string) []string {
	switch kind {
	case "url":
		return []string{"web", "search"}
	case "file":
		return []string{"file"}
	case "mail":
		return []string{"mail", "message"}
	case "event", "session", "import":
		return []string{}
	}
	return nil
}

// goingBySource collects the rows that came from a source, and those that were
// made with it in view.
func (b *Base) goingBySource(q store.Querier, source string, g *Going) error {
	kind, name, ok := strings.Cut(source, ":")
	kinds := sourceKinds(kind)
	if !ok || kinds == nil || strings.TrimSpace(name) == "" {
		return fmt.Errorf("%w; this is %q", ErrSourceUnknown, source)
	}
	g.Erasure.Sources = []string{source}
	switch kind {
	case "event":
		g.Erasure.Events = []string{name}
	case "session":
		g.Erasure.Sessions = []string{name}
		if b.opt.Events != nil {
			events, err := b.opt.Events(q, name)
			if err != nil {
				return err
			}
			g.Erasure.Events = events
		}
	}
	if err := b.factsFrom(q, source, g); err != nil {
		return err
	}
	rows, err := changes(q, `SELECT 0, d.n, 0, `+docOrEmpty+` FROM docs d WHERE d.source = ? OR d.grp = ? AND d.kind = ? ORDER BY d.n`, source, name, KindTurn)
	if err != nil {
		return fmt.Errorf("knowledge: forget: %w", err)
	}
	for _, c := range rows {
		if c.Doc.Kind != KindFact && c.Doc.Kind != KindRetired {
			g.Docs = append(g.Docs, c.Doc)
		}
	}
	return b.madeOf(q, kind, name, kinds, g)
}

// factsFrom adds the facts of a source, and of the events that go.
func (b *Base) factsFrom(q store.Querier, source string, g *Going) error {
	all, err := query(q, `SELECT `+factColumns+` FROM facts WHERE source = ? OR event <> '' ORDER BY n`, source)
	if err != nil {
		return fmt.Errorf("knowledge: forget: %w", err)
	}
	for _, f := range all {
		if f.Source != source && !slices.Contains(g.Erasure.Events, f.Event) {
			continue
		}
		if err := b.withOlder(q, f, g); err != nil {
			return err
		}
	}
	return nil
}

// madeOf follows the origins: facts and results that were made of the source go
// with it, other rows are shown.
func (b *Base) madeOf(q store.Querier, kind, name string, kinds []string, g *Going) error {
	made, err := withOrigin(q, func(o provenance.Origin) bool {
		return kind == "event" && o.Event == name || slices.Contains(kinds, o.Kind) && o.Label == name
	})
	if err != nil {
		return fmt.Errorf("knowledge: forget: %w", err)
	}
	for _, m := range made {
		switch m.kind {
		case origins.Call, origins.Result:
			if !slices.Contains(g.Erasure.Calls, m.ref) {
				g.Erasure.Calls = append(g.Erasure.Calls, m.ref)
			}
		case origins.Row:
			if err := b.madeRow(q, m.ref, g); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *Base) madeRow(q store.Querier, ref string, g *Going) error {
	f, err := fact(q, ref)
	if err == nil {
		return b.withOlder(q, f, g)
	}
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	rows, err := changes(q, `SELECT 0, d.n, 0, `+docOrEmpty+` FROM docs d WHERE d.ref = ?`, ref)
	if err != nil {
		return fmt.Errorf("knowledge: forget: %w", err)
	}
	for _, c := range rows {
		if !slices.ContainsFunc(g.Docs, func(d Doc) bool { return d.Kind == c.Doc.Kind && d.Ref == c.Doc.Ref }) {
			g.Made = append(g.Made, c.Doc)
		}
	}
	return nil
}

type made struct{ kind, ref string }

// withOrigin lists the things of which one origin is such a one.
func withOrigin(q store.Querier, is func(provenance.Origin) bool) (out []made, err error) {
	rows, err := q.Query(`SELECT kind, ref, list FROM origins`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var m made
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
