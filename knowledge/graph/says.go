package graph

import (
	"slices"
	"strings"
	"unicode"

	"hob/knowledge"
	"hob/platform/text/shortid"
	say "hob/platform/text/triples"
)

// subjectEntity returns the entity that a statement is about, or "".
func (m *rowExtraction) subjectEntity(s say.Subject) (string, error) {
	switch {
	case s.Owner:
		return m.ownerEntity()
	case s.Role != "":
		return m.roleEntity(s)
	case s.Name != "" && s.Key == sortWords(s.Name):
		return m.findOrCreateEntity(titleCase(s.Name), knowledge.Person)
	}
	return "", nil
}

func sortWords(name string) string {
	w := strings.Fields(name)
	slices.Sort(w)
	return strings.Join(w, " ")
}

// roleEntity returns the entity of "my sister" or "my sister Ana".
func (m *rowExtraction) roleEntity(s say.Subject) (string, error) {
	if s.Name == "" && s.Key != s.Role { // a nested role, such as "my sister's dog"
		return "", nil
	}
	key := "my " + s.Role
	var id string
	var err error
	if s.Name != "" {
		if id, err = m.findOrCreateEntity(titleCase(s.Name), kindOfRole(s.Role)); err != nil || id == "" {
			return id, err
		}
	} else if id, err = m.entityInRole(key); err != nil {
		return "", err
	}
	if id == "" {
		if id, err = m.createEntity(key, kindOfRole(s.Role)); err != nil {
			return "", err
		}
	}
	if err := m.addMention(id); err != nil {
		return "", err
	}
	if err := m.addAlias(id, key, key, byRole); err != nil {
		return "", err
	}
	return id, m.relateToOwner(id, s.Role)
}

// entityInRole returns the entity for a role without a name. If several entities have the role, it
// returns the one that is known only by the role, or "" if all of them have names.
func (m *rowExtraction) entityInRole(key string) (string, error) {
	list, err := findNamesakes(m.tx, m.d.Realm, key, byRole, byCall)
	if err != nil || len(list) < 2 {
		return firstOrEmpty(list, err)
	}
	for _, id := range list {
		var name string
		if err := m.tx.QueryRow(`SELECT name FROM entities WHERE id = ?`, id).Scan(&name); err != nil || name == key {
			return id, err
		}
	}
	return "", nil
}

// relateToOwner relates the entity with a role to the user.
func (m *rowExtraction) relateToOwner(id, role string) error {
	owner, err := m.ownerEntity()
	if err != nil {
		return err
	}
	r, ok := byRoles()[role]
	if !ok {
		r = roleRelation{"is_" + role + "_of", true}
	}
	if r.fromRole {
		return m.addRelation(id, r.name, owner, say.Triple{}, false)
	}
	return m.addRelation(owner, r.name, id, say.Triple{}, false)
}

func kindOfRole(role string) string {
	if byRoles()[role].name == "owns" {
		return knowledge.Thing
	}
	return knowledge.Person
}

// titleCase capitalizes the words of a folded name.
func titleCase(s string) string {
	f := strings.Fields(s)
	for i, w := range f {
		r := []rune(w)
		r[0] = unicode.ToUpper(r[0])
		f[i] = string(r)
	}
	return strings.Join(f, " ")
}

// objectKinds maps a relation to the kind of its target entity.
var objectKinds = map[string]string{
	"lives_in": knowledge.Place, "works_at": knowledge.Company, "studies_at": knowledge.Company, "married_to": knowledge.Person, "engaged_to": knowledge.Person,
	"dating": knowledge.Person, "works_with": knowledge.Person, "reports_to": knowledge.Person, "drives": knowledge.Thing, "owns": knowledge.Thing,
	"member_of": knowledge.Company, "bank": knowledge.Company, "employer": knowledge.Company, "hometown": knowledge.Place,
}

// addStatement creates the entities and the relation of a statement.
func (m *rowExtraction) addStatement(s say.Triple, over bool) error {
	if s.Attr == say.Called {
		return m.addRoleName(s, over)
	}
	who := s.Subject
	if slices.Contains([]string{"phone", "number", "email"}, s.Attr) { // "Ana's phone number" is a statement about Ana
		switch {
		case who.Name != "":
			who.Key = sortWords(who.Name)
		case who.Role != "":
			who.Key = who.Role
		case who.Key == "phone" || who.Key == "mobile phone":
			who.Owner = true
		}
	}
	from, err := m.subjectEntity(who)
	if err != nil || from == "" {
		return err
	}
	switch kind, ok := objectKinds[s.Attr]; {
	case over && !ok: // another entity may have the address now
	case s.Attr == "email" || strings.Contains(s.Value, "@") && !strings.Contains(s.Value, " ") && s.One:
		return m.addAlias(from, strings.ToLower(s.Value), s.Value, byMail)
	case s.Attr == "phone" || s.Attr == "number" && strings.Contains(s.Subject.Key+" "+s.Text, "phone"):
		if e164, ok := NormalizePhone(s.Value, m.g.o.Region()); ok {
			return m.addAlias(from, nameKey(e164), e164, byPhone)
		}
	case ok && s.Value != "":
		return m.addObject(from, s, kind, over)
	}
	return nil
}

// addRoleName gives a name to the entity with a role.
func (m *rowExtraction) addRoleName(s say.Triple, over bool) error {
	if s.Subject.Owner {
		id, err := m.ownerEntity()
		if err != nil {
			return err
		}
		return m.addAlias(id, nameKey(s.Value), s.Value, byName)
	}
	if s.Subject.Role == "" {
		return nil
	}
	x := s.Subject
	x.Name = nameKey(s.Value)
	if x.Key != x.Role && s.Subject.Name == "" {
		return nil // "my sister's dog is called Rex" does not name the sister
	}
	id, err := m.findOrCreateEntity(titleCase(x.Name), kindOfRole(x.Role))
	if err != nil || id == "" || over {
		return err
	}
	key := "my " + x.Role
	if err := m.addAlias(id, key, key, byCall); err != nil { // the entity may have had no name until now; see regroupTx
		return err
	}
	return m.relateToOwner(id, x.Role)
}

func (m *rowExtraction) addObject(from string, s say.Triple, kind string, over bool) error {
	name := strings.Join(strings.Fields(s.Value), " ")
	for _, article := range []string{"the ", "a ", "an ", "my ", "our "} {
		if len(name) > len(article) && strings.EqualFold(name[:len(article)], article) {
			name = name[len(article):]
		}
	}
	to, err := m.findOrCreateEntity(name, kind)
	if err != nil || to == "" || to == from {
		return err
	}
	attr, turned := CanonicalRelation(s.Attr)
	switch s.Attr {
	case "bank":
		attr, turned = "client_of", false
	case "employer":
		attr = "works_at"
	case "hometown":
		attr = "from"
	}
	if turned {
		from, to = to, from
	}
	return m.addRelation(from, attr, to, s, over)
}

// addRelation stores a relation that the row states.
func (m *rowExtraction) addRelation(from, name, to string, s say.Triple, over bool) error {
	until := s.Until
	if m.d.Kind == knowledge.KindRetired {
		over = true
		if until.IsZero() || m.fact.RetiredAt.Before(until) {
			until = m.fact.RetiredAt
		}
	}
	var there int
	if err := m.tx.QueryRow(`SELECT count(*) FROM relations WHERE doc = ? AND from_id = ? AND name = ? AND to_id = ?`, m.doc, from, name, to).Scan(&there); err != nil || there > 0 {
		return err
	}
	since := s.From
	if since.IsZero() {
		since = m.fact.ValidFrom
	}
	return m.execSQL(`INSERT INTO relations (id, from_id, name, to_id, fact, doc, realm, provenance, source, valid_from, valid_until, over, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		shortid.New("r"), from, name, to, m.d.Ref, m.doc, m.d.Realm, string(m.d.Provenance), m.d.Source, unixMillis(since), unixMillis(until), over, unixMillis(m.at))
}
