package graph

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"hob/knowledge"
	"hob/knowledge/store"
	"hob/platform/shortid"
	say "hob/platform/statement"
)

// making is what is made from one row of docs.
type making struct {
	g     *Graph
	tx    *store.Tx
	doc   int64
	d     knowledge.Doc
	fact  knowledge.Fact
	at    time.Time
	fresh []string
	old   map[named]bool // by what the row named entities before, as far as it does no longer
}

// named is an entity by one of its names.
type named struct{ entity, key string }

func (m *making) exec(stmt string, args ...any) error {
	if _, err := m.tx.Exec(stmt, args...); err != nil {
		return fmt.Errorf("graph: %w", err)
	}
	return nil
}

// clear removes what an earlier form of the row led to. The names stay until
// tidy: by them the row finds its entities again.
func (m *making) clear() error {
	if err := m.exec(`DELETE FROM relations WHERE doc = ?`, m.doc); err != nil {
		return err
	}
	rows, err := m.tx.Query(`SELECT entity || ' ' || key FROM entity_aliases WHERE doc = ?`, m.doc)
	if err != nil {
		return fmt.Errorf("graph: names: %w", err)
	}
	list, err := strs(rows)
	m.old = map[named]bool{}
	for _, s := range list {
		entity, key, _ := strings.Cut(s, " ")
		m.old[named{entity, key}] = true
	}
	return err
}

// tidy drops the names that the row gives no more, and entities that have none
// left with all their mentions.
func (m *making) tidy() error {
	for n := range m.old {
		if err := m.exec(`DELETE FROM entity_aliases WHERE entity = ? AND key = ? AND doc = ?`, n.entity, n.key, m.doc); err != nil {
			return err
		}
		err := m.exec(`DELETE FROM mentions WHERE entity = ?1 AND entity <> 'owner' AND NOT EXISTS (SELECT 1 FROM entity_aliases WHERE entity = ?1)`, n.entity)
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *making) mention(id string) error {
	return m.exec(`INSERT OR IGNORE INTO mentions (doc, entity) VALUES (?, ?)`, m.doc, id)
}

// find returns the one entity that goes by a key, "" when there is none or
// when there are several.
func find(q store.Querier, realm, key string, kinds ...string) (string, error) {
	rows, err := q.Query(`SELECT DISTINCT CASE WHEN e.merged_into <> '' THEN e.merged_into ELSE e.id END FROM entity_aliases a JOIN entities e ON e.id = a.entity
		WHERE a.key = ? AND e.realm = ? AND a.kind IN (`+placeholders(len(kinds))+`) LIMIT 2`, append([]any{key, realm}, anys(kinds)...)...)
	if err != nil {
		return "", fmt.Errorf("graph: find: %w", err)
	}
	ids, err := strs(rows)
	if err != nil || len(ids) != 1 {
		return "", err
	}
	return ids[0], nil
}

// entity is the one of a name; it is made when there is none.
func (m *making) entity(name, kind string) (string, error) {
	name = strings.Trim(strings.TrimSpace(name), `.,;:"'`)
	key := nameKey(name)
	if key == "" || len(key) > 100 || len(strings.Fields(key)) > 6 {
		return "", nil
	}
	id, err := find(m.tx, m.d.Realm, key, byName, byMail, byPhone)
	if err == nil && id == "" && kind == knowledge.Person {
		if !strings.Contains(key, " ") { // "Ana", when there is one Ana
			id, err = find(m.tx, m.d.Realm, key, byFirst)
		} else { // "Ana Silva", when she was just "Ana" before
			id, err = m.longer(key)
		}
	}
	if err != nil {
		return "", err
	}
	if id == "" {
		if id, err = m.create(name, kind); err != nil {
			return "", err
		}
	}
	if err := m.mention(id); err != nil {
		return "", err
	}
	if err := m.alias(id, key, name, byName); err != nil {
		return "", err
	}
	if first, _, ok := strings.Cut(key, " "); ok && kind == knowledge.Person {
		return id, m.alias(id, first, first, byFirst)
	}
	return id, m.exec(`UPDATE entities SET updated_at = max(updated_at, ?), kind = CASE WHEN kind = 'thing' THEN ? ELSE kind END WHERE id = ?`, millis(m.at), kind, id)
}

// longer finds who was known by the first of several names alone, and gives
// them the whole one.
func (m *making) longer(key string) (string, error) {
	first, _, _ := strings.Cut(key, " ")
	if other, err := find(m.tx, m.d.Realm, first, byFirst); err != nil || other != "" {
		return "", err // somebody else has that first name
	}
	id, err := find(m.tx, m.d.Realm, first, byName)
	if err != nil || id == "" {
		return "", err
	}
	var kind string
	if err := m.tx.QueryRow(`SELECT kind FROM entities WHERE id = ?`, id).Scan(&kind); err != nil || kind != knowledge.Person {
		return "", err
	}
	return id, nil
}

func (m *making) create(name, kind string) (string, error) {
	id := shortid.New("e")
	p := m.d.Provenance
	err := m.exec(`INSERT INTO entities (id, name, kind, realm, provenance, source, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		id, name, kind, m.d.Realm, string(p), m.d.Source, millis(m.at), millis(m.at))
	return id, err
}

func (m *making) alias(id, key, text, kind string) error {
	var there int
	if err := m.tx.QueryRow(`SELECT count(*) FROM entity_aliases WHERE entity = ? AND key = ?`, id, key).Scan(&there); err != nil {
		return fmt.Errorf("graph: alias: %w", err)
	}
	if there == 0 && (kind == byName) {
		m.fresh = append(m.fresh, text)
		m.g.forgetNames()
	}
	delete(m.old, named{id, key})
	return m.exec(`INSERT OR IGNORE INTO entity_aliases (entity, key, text, kind, doc) VALUES (?, ?, ?, ?, ?)`, id, key, text, kind, m.doc)
}

// owner is the entity of the owner in a realm.
func (m *making) owner() (string, error) {
	return OwnerID, ownerTx(m.tx, m.at)
}

func ownerTx(tx *store.Tx, at time.Time) error {
	_, err := tx.Exec(`INSERT OR IGNORE INTO entities (id, name, kind, realm, provenance, by_hand, created_at, updated_at) VALUES ('owner', 'you', 'person', '', 'hob', 1, ?1, ?1)`, millis(at))
	if err != nil {
		return fmt.Errorf("graph: owner: %w", err)
	}
	return nil
}

// subject is the entity that a statement is about, "" when it is none.
func (m *making) subject(s say.Subject) (string, error) {
	switch {
	case s.Owner:
		return m.owner()
	case s.Role != "":
		return m.role(s)
	case s.Name != "" && s.Key == sorted(s.Name):
		return m.entity(titled(s.Name), knowledge.Person)
	}
	return "", nil
}

func sorted(name string) string {
	w := strings.Fields(name)
	slices.Sort(w)
	return strings.Join(w, " ")
}

// role is the entity of "my sister" or "my sister Ana".
func (m *making) role(s say.Subject) (string, error) {
	if s.Name == "" && s.Key != s.Role { // "my sister's dog"
		return "", nil
	}
	key := "my " + s.Role
	var id string
	var err error
	if s.Name != "" {
		if id, err = m.entity(titled(s.Name), kindOfRole(s.Role)); err != nil || id == "" {
			return id, err
		}
	} else if id, err = find(m.tx, m.d.Realm, key, byRole); err != nil {
		return "", err
	}
	if id == "" {
		if id, err = m.create(key, kindOfRole(s.Role)); err != nil {
			return "", err
		}
	}
	if err := m.mention(id); err != nil {
		return "", err
	}
	if err := m.alias(id, key, key, byRole); err != nil {
		return "", err
	}
	return id, m.toOwner(id, s.Role)
}

// toOwner relates whoever fills a role to the owner.
func (m *making) toOwner(id, role string) error {
	owner, err := m.owner()
	if err != nil {
		return err
	}
	r, ok := byRoles()[role]
	if !ok {
		r = roleRelation{"is_" + role + "_of", true}
	}
	if r.fromRole {
		return m.relate(id, r.name, owner, say.Statement{}, false)
	}
	return m.relate(owner, r.name, id, say.Statement{}, false)
}

func kindOfRole(role string) string {
	if byRoles()[role].name == "owns" {
		return knowledge.Thing
	}
	return knowledge.Person
}

// titled gives a folded name its capitals back.
func titled(s string) string {
	f := strings.Fields(s)
	for i, w := range f {
		r := []rune(w)
		r[0] = unicode.ToUpper(r[0])
		f[i] = string(r)
	}
	return strings.Join(f, " ")
}

// objects are the relations whose other end is an entity, and what it is.
var objects = map[string]string{
	"lives_in": knowledge.Place, "works_at": knowledge.Company, "studies_at": knowledge.Company, "married_to": knowledge.Person, "engaged_to": knowledge.Person,
	"dating": knowledge.Person, "works_with": knowledge.Person, "reports_to": knowledge.Person, "drives": knowledge.Thing, "owns": knowledge.Thing,
	"member_of": knowledge.Company, "bank": knowledge.Company, "employer": knowledge.Company, "hometown": knowledge.Place,
}

// statement makes entities and a relation of what was said.
func (m *making) statement(s say.Statement, over bool) error {
	if s.Attr == say.Called {
		return m.called(s)
	}
	who := s.Subject
	if slices.Contains([]string{"phone", "number", "email"}, s.Attr) { // "Ana's phone number" is about Ana
		switch {
		case who.Name != "":
			who.Key = sorted(who.Name)
		case who.Role != "":
			who.Key = who.Role
		case who.Key == "phone" || who.Key == "mobile phone":
			who.Owner = true
		}
	}
	from, err := m.subject(who)
	if err != nil || from == "" {
		return err
	}
	switch kind, ok := objects[s.Attr]; {
	case s.Attr == "email" || strings.Contains(s.Value, "@") && !strings.Contains(s.Value, " ") && s.One:
		return m.contact(from, strings.ToLower(s.Value), s.Value, byMail)
	case s.Attr == "phone" || s.Attr == "number" && strings.Contains(s.Subject.Key+" "+s.Text, "phone"):
		if e164, ok := Phone(s.Value, m.g.o.Region()); ok {
			return m.contact(from, nameKey(e164), e164, byPhone)
		}
	case ok && s.Value != "":
		return m.object(from, s, kind, over)
	}
	return nil
}

// called joins a name to whoever has a role.
func (m *making) called(s say.Statement) error {
	if s.Subject.Owner {
		id, err := m.owner()
		if err != nil {
			return err
		}
		return m.alias(id, nameKey(s.Value), s.Value, byName)
	}
	if s.Subject.Role == "" {
		return nil
	}
	x := s.Subject
	x.Name = nameKey(s.Value)
	if x.Key != x.Role && s.Subject.Name == "" {
		return nil // "my sister's dog is called Rex"
	}
	nameless, err := find(m.tx, m.d.Realm, "my "+x.Role, byRole)
	if err != nil {
		return err
	}
	id, err := m.role(x)
	if err != nil || nameless == "" || nameless == id {
		return err
	}
	var name string
	if err := m.tx.QueryRow(`SELECT name FROM entities WHERE id = ?`, nameless).Scan(&name); err != nil {
		return fmt.Errorf("graph: merge: %w", err)
	}
	if name == "my "+x.Role { // she had no name until now
		return mergeTx(m.tx, nameless, id)
	}
	return nil
}

func (m *making) contact(id, key, text, kind string) error {
	other, err := find(m.tx, m.d.Realm, key, kind)
	if err != nil {
		return err
	}
	if err := m.alias(id, key, text, kind); err != nil {
		return err
	}
	if other == "" || other == id || other == OwnerID || id == OwnerID {
		return nil
	}
	return mergeTx(m.tx, other, id)
}

func (m *making) object(from string, s say.Statement, kind string, over bool) error {
	name := strings.Join(strings.Fields(s.Value), " ")
	for _, article := range []string{"the ", "a ", "an ", "my ", "our "} {
		if len(name) > len(article) && strings.EqualFold(name[:len(article)], article) {
			name = name[len(article):]
		}
	}
	to, err := m.entity(name, kind)
	if err != nil || to == "" || to == from {
		return err
	}
	attr, turned := Normal(s.Attr)
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
	return m.relate(from, attr, to, s, over)
}

// relate keeps a relation that the row says.
func (m *making) relate(from, name, to string, s say.Statement, over bool) error {
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
	return m.exec(`INSERT INTO relations (id, from_id, name, to_id, fact, doc, realm, provenance, source, valid_from, valid_until, over, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		shortid.New("r"), from, name, to, m.d.Ref, m.doc, m.d.Realm, string(m.d.Provenance), m.d.Source, millis(since), millis(until), over, millis(m.at))
}
