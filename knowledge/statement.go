package knowledge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/platform/store"
	say "hob/platform/text/triples"
)

// firstStatement returns the first statement in text whose attribute has a single value, and that
// value. It returns "" if there is none.
func firstStatement(text string) (head, value string) {
	for _, s := range say.Read(text, time.Time{}) {
		if s.One && !s.More && s.Value != "" {
			return s.Attr + " " + s.Subject.Key, strings.Join(say.Words(s.Value), " ")
		}
	}
	return "", ""
}

// readings is the version of the statement parser. Facts that an older version parsed are parsed
// again.
const readings = 1

// claims1 creates the table for the claims of the facts. Claims are derived from the text of the
// facts and deleted with the facts.
const claims1 = `
CREATE TABLE claims (
	fact TEXT NOT NULL, n INTEGER NOT NULL,
	subject TEXT NOT NULL, attr TEXT NOT NULL, value TEXT NOT NULL, words TEXT NOT NULL, old TEXT NOT NULL, flags INTEGER NOT NULL, text TEXT NOT NULL,
	PRIMARY KEY (fact, n)) WITHOUT ROWID;
CREATE INDEX claims_subject ON claims (subject, attr);
CREATE INDEX claims_words ON claims (words, attr);
CREATE TABLE claimed (
	fact TEXT PRIMARY KEY, version INTEGER NOT NULL,
	next TEXT NOT NULL DEFAULT '',
	split TEXT NOT NULL DEFAULT '') WITHOUT ROWID;
CREATE INDEX claims_called ON claims (subject, words) WHERE attr = 'called';
CREATE INDEX claimed_anew ON claimed (fact) WHERE version = 0;
CREATE INDEX claimed_next ON claimed (next) WHERE next <> '';
CREATE INDEX claimed_split ON claimed (split) WHERE split <> '';
CREATE INDEX facts_until ON facts (valid_until) WHERE valid_until > 0 AND retired_at = 0;
CREATE TRIGGER facts_claims_gone AFTER DELETE ON facts BEGIN
	DELETE FROM claims WHERE fact = old.id;
	DELETE FROM claimed WHERE fact = old.id;
	UPDATE claimed SET next = '' WHERE next = old.id;
END;
CREATE TRIGGER facts_claims_anew AFTER UPDATE OF text ON facts BEGIN
	DELETE FROM claims WHERE fact = old.id;
	UPDATE claimed SET version = 0 WHERE fact = old.id;
END;`

// Bits of the flags column.
const (
	flagOne = 1 << iota
	flagMore
	flagNow
	flagSure
	flagEnded
	flagPast
)

func flagsOf(s say.Triple) (n int) {
	for i, on := range []bool{s.One, s.More, s.Now, s.Sure, s.Ended, s.Past} {
		if on {
			n |= 1 << i
		}
	}
	return n
}

// claim is a row of the table claims.
type claim struct {
	fact string
	n    int
	say.Triple
}

// parseFactsTx parses the facts that were not parsed yet or that an older version parsed.
func (b *Base) parseFactsTx(tx *store.Tx) error {
	which := `SELECT fact FROM claimed WHERE version = 0` // facts with redacted text
	if !b.read.Load() {
		which = `SELECT f.id FROM facts f LEFT JOIN claimed c ON c.fact = f.id WHERE coalesce(c.version, 0) < ` + strconv.Itoa(readings)
		tx.AfterCommit(func() { b.read.Store(true) })
	}
	todo, err := queryFacts(tx, `SELECT `+factColumns+` FROM facts WHERE id IN (`+which+`) ORDER BY n`)
	if err != nil {
		return fmt.Errorf("knowledge: read facts: %w", err)
	}
	for _, f := range todo {
		if err := claimTx(tx, f, say.Read(f.Text, f.CreatedAt.UTC())); err != nil {
			return err
		}
	}
	return nil
}

// claimTx stores the claims of a fact.
func claimTx(tx *store.Tx, f Fact, list []say.Triple) error {
	for i, s := range list {
		if _, err := tx.Exec(`INSERT OR REPLACE INTO claims (fact, n, subject, attr, value, words, old, flags, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, f.ID, i,
			s.Subject.Key, s.Attr, s.Value, valueKey(s.Value), s.Old, flagsOf(s), s.Text); err != nil {
			return fmt.Errorf("knowledge: read fact: %w", err)
		}
	}
	if _, err := tx.Exec(`INSERT INTO claimed (fact, version) VALUES (?, ?) ON CONFLICT (fact) DO UPDATE SET version = excluded.version`, f.ID, readings); err != nil {
		return fmt.Errorf("knowledge: read fact: %w", err)
	}
	return nil
}

func valueKey(value string) string {
	w := say.Words(value)
	slices.Sort(w)
	return strings.Join(w, " ")
}

// claimsOf returns the claims of valid facts in a realm that satisfy a condition on c.
func claimsOf(q store.Querier, realm, where string, args ...any) ([]claim, error) {
	rows, err := q.Query(`SELECT c.fact, c.n, c.subject, c.attr, c.value, c.old, c.flags, c.text FROM claims c JOIN facts f ON f.id = c.fact
		WHERE f.retired_at = 0 AND f.realm = ? AND `+where+` ORDER BY f.n, c.n LIMIT 500`, append([]any{realm}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("knowledge: read claims: %w", err)
	}
	defer rows.Close()
	var out []claim
	for rows.Next() {
		c, err := scanClaim(rows)
		if err != nil {
			return nil, fmt.Errorf("knowledge: read claims: %w", err)
		}
		out = append(out, c)
	}
	return out, rows.Err()
}

func scanClaim(row interface{ Scan(...any) error }) (c claim, err error) {
	var flags int
	err = row.Scan(&c.fact, &c.n, &c.Subject.Key, &c.Attr, &c.Value, &c.Old, &flags, &c.Text)
	on := func(flag int) bool { return flags&flag != 0 }
	c.One, c.More, c.Now, c.Sure, c.Ended, c.Past = on(flagOne), on(flagMore), on(flagNow), on(flagSure), on(flagEnded), on(flagPast)
	return c, err
}

// allClaims returns the claims of one fact, even if it is retired.
func allClaims(q store.Querier, id string) ([]claim, error) {
	rows, err := q.Query(`SELECT fact, n, subject, attr, flags, text FROM claims WHERE fact = ? ORDER BY n`, id)
	if err != nil {
		return nil, fmt.Errorf("knowledge: read claims: %w", err)
	}
	defer rows.Close()
	var out []claim
	for rows.Next() {
		var c claim
		var flags int
		if err := rows.Scan(&c.fact, &c.n, &c.Subject.Key, &c.Attr, &flags, &c.Text); err != nil {
			return nil, fmt.Errorf("knowledge: read claims: %w", err)
		}
		c.More = flags&flagMore != 0
		out = append(out, c)
	}
	return out, rows.Err()
}

// subjectKeys returns the key of a subject and its alternative keys. For example, "Ana" and "my
// sister" are the same person while there is only one sister. clean excludes names from untrusted
// text.
func subjectKeys(q store.Querier, realm string, s say.Subject, clean bool) ([]string, error) {
	out := []string{s.Key}
	if s.Owner || s.Key == "" {
		return out, nil
	}
	names, err := loadRoleNames(q, realm, clean)
	if err != nil {
		return nil, err
	}
	if s.Role != "" && s.Name != "" {
		names.addName(s.Role, s.Name)
	}
	for role, called := range names {
		if len(called) != 1 {
			continue
		}
		for name := range called {
			out = append(out, swapName(s.Key, role, name)...)
			out = append(out, swapName(s.Key, name, role)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// swapName returns key with the words of from replaced by the words of to. It returns "" if key
// does not contain the words of from.
func swapName(key, from, to string) []string {
	words, part := strings.Fields(key), strings.Fields(from)
	for _, p := range part {
		i := slices.Index(words, p)
		if i < 0 {
			return nil
		}
		words = slices.Delete(words, i, i+1)
	}
	words = append(words, strings.Fields(to)...)
	slices.Sort(words)
	return []string{strings.Join(slices.Compact(words), " ")}
}

// roleNames maps roles to names.
type roleNames map[string]map[string]bool

func (c roleNames) addName(role, name string) {
	if c[role] == nil {
		c[role] = map[string]bool{}
	}
	c[role][name] = true
}

// loadRoleNames returns the names by role.
func loadRoleNames(q store.Querier, realm string, clean bool) (roleNames, error) {
	rows, err := q.Query(`SELECT DISTINCT c.subject, c.words FROM claims c JOIN facts f ON f.id = c.fact
		WHERE c.attr = 'called' AND c.flags & ? = 0 AND f.retired_at = 0 AND f.realm = ? AND (NOT ? OR f.provenance IN ('owner', 'hob', 'tool')) LIMIT 2000`,
		flagEnded|flagPast, realm, clean)
	if err != nil {
		return nil, fmt.Errorf("knowledge: read names: %w", err)
	}
	defer rows.Close()
	out := roleNames{}
	for rows.Next() {
		var role, name string
		if err := rows.Scan(&role, &name); err != nil {
			return nil, fmt.Errorf("knowledge: read names: %w", err)
		}
		if role != say.Owner && name != "" {
			out.addName(role, name)
		}
	}
	return out, rows.Err()
}
