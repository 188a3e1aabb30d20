package knowledge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hob/platform/text/textnorm"
)

// findSpeakers finds the people named in the question who are speakers of rows. A name may be the
// first word of a speaker's name.
func (g *candidateSet) findSpeakers() error {
	k := g.k
	for _, w := range tokenizeFolded(k.text) {
		if (w == "i" || w == "my" || w == "me") && !slices.Contains(k.speakers, "owner") {
			k.speakers = append(k.speakers, "owner")
		}
	}
	if len(k.names) == 0 {
		return nil
	}
	type name struct {
		From string `json:"a"`
		To   string `json:"z"`
	}
	type part struct {
		Kind  string `json:"k"`
		Realm string `json:"r"`
	}
	names := make([]name, len(k.names))
	for i, n := range k.names {
		names[i] = name{n, n + "\U0010FFFF"}
		if len([]rune(n)) < 3 {
			names[i].To = n + "!" // matches the whole name or its first word
		}
	}
	var parts []part
	for _, d := range g.scope {
		for _, kind := range d.kinds {
			for _, realm := range d.realms {
				parts = append(parts, part{kind, realm})
			}
		}
	}
	raw, err := json.Marshal([]any{names, parts})
	if err != nil {
		return fmt.Errorf("knowledge: read speakers: %w", err)
	}
	// The result must not reveal speakers of rows outside the scope. Each part of the scope is
	// therefore queried separately by an index lookup.
	rows, err := g.q.Query(`SELECT n.key, min((SELECT d.speaker FROM docs d WHERE d.speaker <> '' AND d.realm = s.value ->> 'r' AND d.kind = s.value ->> 'k'
			AND d.speaker COLLATE NOCASE >= (n.value ->> 'a') COLLATE NOCASE AND d.speaker COLLATE NOCASE < (n.value ->> 'z') COLLATE NOCASE ORDER BY d.speaker COLLATE NOCASE LIMIT 1))
		FROM json_each(?1, '$[0]') n CROSS JOIN json_each(?1, '$[1]') s GROUP BY n.key ORDER BY n.key`, string(raw))
	if err != nil {
		return fmt.Errorf("knowledge: read speakers: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var i int
		var speaker *string
		if err := rows.Scan(&i, &speaker); err != nil {
			return fmt.Errorf("knowledge: read speakers: %w", err)
		}
		if speaker == nil {
			continue
		}
		if !slices.Contains(k.speakers, *speaker) {
			k.speakers = append(k.speakers, *speaker)
		}
		k.dropSpeakerName(textnorm.Fold(k.names[i]))
	}
	return rows.Err()
}

// dropSpeakerName removes a speaker's name from the terms, because the name does not describe the
// content and other people use it when they address that person.
func (k *parsedQuestion) dropSpeakerName(name string) {
	k.called = append(k.called, name)
	if len(k.terms) > 1 {
		k.terms = slices.DeleteFunc(k.terms, func(t term) bool { return t.text == name })
	}
}

// addSpeakerMentions adds rows about a speaker that have no speaker themselves ("Ana lives in
// Leipzig"). In these rows the name is an ordinary word.
func (g *candidateSet) addSpeakerMentions(limit int) error {
	if len(g.k.called) == 0 {
		return nil
	}
	var scope []searchDomain
	for _, d := range g.scope {
		d.kinds = slices.DeleteFunc(slices.Clone(d.kinds), func(k string) bool { return k == KindTurn })
		if len(d.kinds) > 0 {
			scope = append(scope, d)
		}
	}
	text := slices.Clone(g.k.called)
	for _, t := range g.k.terms {
		text = append(text, t.text)
	}
	a, err := g.b.lookupWords(g.q, scope, TermQuery{Text: strings.Join(text, " "), Limit: limit})
	for _, m := range a.Matches {
		m.Has = 0 // the bits refer to the words of this second query
		g.found = append(g.found, m)
	}
	return err
}
