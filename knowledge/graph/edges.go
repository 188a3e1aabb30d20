package graph

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/provenance/origins"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	say "hob/platform/text/triples"
)

// Limits of a search for relations.
const (
	maxEdges   = 50  // relations in an answer
	edgeScan   = 400 // relations to read per step, newest first
	maxEdgeHop = 3   // relations in a chain such as "Ada's husband's employer"
)

// relationWords maps folded words of a question to the relations that they ask for. It adds the
// words for roles, such as "sister", from byRoles.
var relationWords = sync.OnceValue(func() map[string][]string {
	m := map[string][]string{}
	for names, words := range map[string]string{
		"works_at":            "work works worked working job employer employs employ employed employee employees company firm arbeitet arbeiten arbeitgeber firma travaille employeur entreprise trabaja empresa lavora azienda pracuje dirba",
		"lives_in lives_at":   "live lives lived living home resides wohnt wohnen lebt habite vive abita mieszka gyvena",
		"located_in":          "located location lies liegt",
		"married_to":          "married spouse verheiratet mariee marie casada casado sposata sposato",
		"engaged_to":          "engaged",
		"sibling_of":          "siblings sisters brothers geschwister",
		"parent_of":           "children kids sons daughters mutter kinder",
		"friend_of":           "friends",
		"works_with":          "colleagues coworkers",
		"neighbour_of":        "neighbours neighbors",
		"manager_of":          "manages managed reports report",
		"owns":                "own owns owned pets dogs cats",
		"drives":              "drive drives drove",
		"studies_at":          "study studies studied student students university college school studiert etudie estudia studia",
		"member_of":           "member members club team",
		"client_of":           "clients customers",
		"attends":             "attend attends attended attending",
		"born_in":             "born",
		"landlord_of":         "tenant tenants",
		"teacher_of":          "teaches student pupil",
		"doctor_of":           "patient patients",
		"part_of":             "belongs",
		"grandparent_of":      "grandparents grandchildren",
		"uncle_or_aunt_of":    "uncles aunts nephews nieces",
		"cousin_of":           "cousins",
		"partner_of":          "dating",
		"lives_in located_in": "city town country",
	} {
		for w := range strings.FieldsSeq(words) {
			m[w] = append(m[w], strings.Fields(names)...)
		}
	}
	for role, r := range byRoles() {
		m[role] = append(m[role], r.name)
	}
	return m
})

// Edges implements knowledge.Graph. It follows the relations that the text asks about from the
// entities that it names: "where does Ada's husband live?" leads from Ada to Tom and to his home.
// If the text only names entities ("who is Ada?"), it returns all relations of these entities.
func (g *Graph) Edges(q store.Querier, w knowledge.EdgeQuery) ([]knowledge.Edge, error) {
	if w.Limit <= 0 || w.Limit > maxEdges {
		w.Limit = maxEdges
	}
	if w.Now.IsZero() {
		w.Now = time.Now()
	}
	named, err := g.Named(q, w.Realms, w.Text)
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(named))
	for _, e := range named {
		ids = append(ids, e.ID)
	}
	asked, rest := askedRelations(w.Text, named)
	var list []edge
	var followed bool
	switch {
	case len(asked) > 0:
		if len(asked) > 1 {
			w.Except = nil // a fact with a part of the chain does not answer the question
		}
		if slices.ContainsFunc(textnorm.FoldedWords(w.Text), func(s string) bool { return s == "i" || s == "we" || say.Mine(s) }) && slices.Contains(w.Realms, "") {
			ids = append(ids, OwnerID)
		}
		list, err = g.followAsked(q, w, ids, asked)
		followed = true
	case w.Around || len(rest) == 0:
		list, err = g.edgesOf(q, w, ids, nil)
	}
	if err != nil {
		return nil, err
	}
	if len(list) == 0 && w.Around && len(asked) > 0 {
		followed = false
		if list, err = g.edgesOf(q, w, slices.DeleteFunc(ids, func(id string) bool { return id == OwnerID }), nil); err != nil {
			return nil, err
		}
	}
	out, err := g.describeEdges(q, w, list)
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i].Asked = followed
	}
	wanted := slices.ContainsFunc(rest, func(s string) bool { return contactWords()[s] })
	if !wanted && !w.Around && len(rest) > 0 {
		return out, nil
	}
	return g.addContacts(q, named, out, w.Limit, wanted)
}

// contactWords lists folded words that ask for a number or an address.
var contactWords = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq("phone number call reach contact email mail address telefon telefonnummer nummer adresse telephone numero correo telefono") {
		m[w] = true
	}
	return m
})

// contactKinds maps the relations that stand for an address or a number in an answer to the kinds
// of their aliases.
var contactKinds = map[string]string{byPhone: "phone number", byMail: "email address"}

// contacted is the maximum number of people whose numbers and addresses are shown.
const contacted = 3

// addContacts appends the phone numbers and email addresses of the named people.
func (g *Graph) addContacts(q store.Querier, named []knowledge.Entity, out []knowledge.Edge, limit int, asked bool) ([]knowledge.Edge, error) {
	for _, e := range named[:min(len(named), contacted)] {
		var err error
		if out, err = addContactsOf(q, e, out, limit, asked); err != nil {
			return nil, fmt.Errorf("graph: read addresses: %w", err)
		}
	}
	return out, nil
}

// addContactsOf appends the phone numbers and email addresses of one person.
func addContactsOf(q store.Querier, e knowledge.Entity, out []knowledge.Edge, limit int, asked bool) ([]knowledge.Edge, error) {
	rows, err := q.Query(`SELECT min(a.text) AS text, min(a.kind) AS kind, max(`+clean+`) AS clean, max(a.source) FROM entity_aliases a JOIN entities e ON e.id = a.entity LEFT JOIN docs d ON d.n = a.doc
		WHERE a.entity IN (SELECT id FROM entities WHERE id = ?1 OR merged_into = ?1) AND a.kind IN ('`+byPhone+`', '`+byMail+`') GROUP BY a.key ORDER BY clean DESC, kind, text LIMIT 2`, e.ID)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() && len(out) < limit {
		var value, kind, source string
		var trusted bool
		if err := rows.Scan(&value, &kind, &trusted, &source); err != nil {
			return nil, err
		}
		x := knowledge.Edge{
			Relation: knowledge.Relation{From: e.ID, Name: kind, Provenance: provenance.Owner, CreatedAt: e.UpdatedAt},
			FromName: e.Name, ToName: value, Text: e.Name + "'s " + contactKinds[kind] + " is " + value, Asked: asked,
		}
		if !trusted {
			x.Provenance, x.Origins = provenance.Outside, []provenance.Origin{{Kind: "memory", Label: cmp.Or(source, e.ID)}}
		}
		out = append(out, x)
	}
	return out, rows.Err()
}

// askedRelations returns the relations that the words of a text ask for, and the remaining content
// words, which are neither relation words nor names.
func askedRelations(text string, named []knowledge.Entity) (asked map[string][]string, rest []string) {
	asked = map[string][]string{}
	names := map[string]bool{}
	for _, e := range named {
		for _, n := range append([]string{e.Name}, e.Aliases...) {
			for _, w := range textnorm.FoldedWords(n) {
				names[w] = true
			}
		}
	}
	for _, w := range knowledge.TopicWords(text) {
		f := textnorm.Fold(w)
		switch list := relationWords()[f]; {
		case names[f] && len(list) == 0:
		case len(list) > 0:
			asked[f] = list
		default:
			rest = append(rest, f)
		}
	}
	return asked, rest
}

// edge is a relation between the roots of its entities.
type edge struct {
	relation

	from, to knowledge.Entity
}

// otherEnd returns the end of the edge that is not in ids.
func (e edge) otherEnd(ids []string) string {
	if containsString(ids, e.from.ID) {
		return e.to.ID
	}
	return e.from.ID
}

// followAsked follows each asked relation once. If a chain uses all of them, it returns only this
// chain, and otherwise every relation of the first step.
func (g *Graph) followAsked(q store.Querier, w knowledge.EdgeQuery, ids []string, asked map[string][]string) ([]edge, error) {
	all := map[string]bool{}
	for _, list := range asked {
		for _, name := range list {
			all[name] = true
		}
	}
	if len(asked) > maxEdgeHop {
		return g.edgesOf(q, w, ids, all)
	}
	type chain struct {
		edges []edge
		end   string
		used  map[string]bool // asked words that the chain uses
	}
	front := make([]chain, 0, len(ids))
	for _, id := range ids {
		front = append(front, chain{end: id})
	}
	var first []edge
	for step := range len(asked) {
		var next []chain
		for _, c := range front {
			list, err := g.edgesOf(q, w, []string{c.end}, all)
			if err != nil {
				return nil, err
			}
			if step == 0 {
				first = append(first, list...)
			}
			for _, e := range list {
				for word, names := range asked {
					if c.used[word] || !slices.Contains(names, e.Name) || slices.ContainsFunc(c.edges, func(x edge) bool { return x.ID == e.ID }) {
						continue
					}
					used := map[string]bool{word: true}
					for u := range c.used {
						used[u] = true
					}
					next = append(next, chain{append(slices.Clone(c.edges), e), e.otherEnd([]string{c.end}), used})
				}
			}
		}
		front = next[:min(len(next), maxFan)]
	}
	if len(asked) < 2 || len(front) == 0 {
		return first, nil
	}
	var out []edge
	for _, c := range front {
		out = append(out, c.edges...)
	}
	return out, nil
}

// edgesOf returns the valid relations of entities, newest first. If names is not nil, it returns
// only relations with these names.
func (g *Graph) edgesOf(q store.Querier, w knowledge.EdgeQuery, ids []string, names map[string]bool) (out []edge, err error) {
	all, err := mergedMembers(q, ids)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	p, realms := sqlPlaceholders(len(all)), sqlPlaceholders(len(w.Realms))
	args := slices.Concat(toAnySlice(all), toAnySlice(all), toAnySlice(w.Realms), []any{unixMillis(w.Now)})
	list, err := scanRelations(q.Query(`SELECT `+relationColumns+` FROM relations r WHERE (r.from_id IN (`+p+`) AND r.over = 0 OR r.to_id IN (`+p+`) AND r.over = 0)
		AND r.realm IN (`+realms+`) AND (r.valid_until = 0 OR r.valid_until > ?) ORDER BY r.created_at DESC, r.id LIMIT `+fmt.Sprint(edgeScan), args...))
	if err != nil {
		return nil, fmt.Errorf("graph: read relations: %w", err)
	}
	for _, r := range list {
		if names != nil && !names[r.Name] {
			continue
		}
		x := edge{relation: r}
		if x.from, err = rootName(q, r.From); err == nil {
			x.to, err = rootName(q, r.To)
		}
		if errors.Is(err, knowledge.ErrNoEntity) || err == nil && x.from.ID == x.to.ID {
			continue
		}
		if err != nil {
			return nil, err
		}
		if out = append(out, x); len(out) == min(maxEdges, 2*w.Limit+len(w.Except)) {
			break
		}
	}
	return out, nil
}

// rootName returns an entity, or the one into which it was merged, without its aliases.
func rootName(q store.Querier, id string) (e knowledge.Entity, err error) {
	err = q.QueryRow(`SELECT e.id, e.name, e.kind, e.provenance FROM entities m JOIN entities e ON e.id = CASE m.merged_into WHEN '' THEN m.id ELSE m.merged_into END WHERE m.id = ?`, id).
		Scan(&e.ID, &e.Name, &e.Kind, &e.Provenance)
	if errors.Is(err, sql.ErrNoRows) {
		err = knowledge.ErrNoEntity
	}
	return e, err
}

// describeEdges converts the first relations to the form that is shown, each statement once. An
// entity is shown with a name from trusted text if it has one.
func (g *Graph) describeEdges(q store.Querier, w knowledge.EdgeQuery, list []edge) (out []knowledge.Edge, err error) {
	var ids []string
	for _, e := range list {
		ids = append(ids, e.from.ID, e.to.ID)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	trusted, err := g.TrustedNames(q, ids...)
	if err != nil {
		return nil, err
	}
	byText := map[string]int{}
	for _, e := range list {
		x := knowledge.Edge{Relation: e.Relation}
		if x.Fact != "" && slices.Contains(w.Except, x.Fact) {
			continue
		}
		for _, end := range []struct {
			e    knowledge.Entity
			id   *string
			name *string
		}{{e.from, &x.From, &x.FromName}, {e.to, &x.To, &x.ToName}} {
			*end.id, *end.name = end.e.ID, end.e.Name
			names := trusted[end.e.ID]
			switch {
			case end.e.ID == OwnerID || slices.Contains(names, end.e.Name):
			case len(names) > 0:
				*end.name = slices.MaxFunc(names, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
			case end.e.Provenance.Tainted():
				x.Provenance = provenance.Worst(x.Provenance, end.e.Provenance)
			}
		}
		x.Text = edgeText(x.FromName, x.Name, x.ToName)
		if i, ok := byText[x.Text]; ok {
			if out[i].Provenance.Tainted() && !x.Provenance.Tainted() {
				out[i] = x
			}
			continue
		}
		byText[x.Text] = len(out)
		if out = append(out, x); len(out) == w.Limit {
			break
		}
	}
	for i := range out {
		if x := &out[i]; x.Provenance.Tainted() {
			if x.Fact != "" {
				if x.Origins, err = origins.Of(q, origins.Row, x.Fact); err != nil {
					return nil, fmt.Errorf("graph: read origins: %w", err)
				}
			}
			if len(x.Origins) == 0 {
				x.Origins = []provenance.Origin{{Kind: "memory", Label: cmp.Or(x.Fact, x.Source, x.ID)}}
			}
		}
	}
	return out, nil
}

// edgeText returns a relation as a sentence: "Ada works at Vinted", "Ada is a sibling of you".
func edgeText(from, relation, to string) string {
	words := strings.Fields(strings.ReplaceAll(relation, "_", " "))
	if len(words) == 0 {
		return from + " – " + to
	}
	last := words[len(words)-1]
	switch {
	case strings.HasSuffix(words[0], "s") && words[0] != "is" && last != "of": // such as "works at" and "owns"
	case words[0] == "is" || words[0] == "part" || last == "to" && words[0] != "reports" || words[0] == "located" || words[0] == "born" || words[0] == "made" || words[0] == "from":
		words = append([]string{"is"}, slices.DeleteFunc(words, func(s string) bool { return s == "is" })...)
	case last == "of":
		article := "a"
		if strings.ContainsAny(words[0][:1], "aeiou") {
			article = "an"
		}
		words = append([]string{"is", article}, words...)
	}
	if from == "you" {
		switch words[0] {
		case "is":
			words[0] = "are"
		case "studies":
			words[0] = "study"
		default:
			words[0] = strings.TrimSuffix(words[0], "s")
		}
	}
	return from + " " + strings.Join(words, " ") + " " + to
}
