package postgres

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// columnTypes maps SQLite's types. Texts are compared byte by byte, as in SQLite.
var columnTypes = map[string]string{"INTEGER": "BIGINT", "BLOB": "BYTEA", "REAL": "DOUBLE PRECISION", "TEXT": `TEXT COLLATE "C"`}

// mapColumnTypes replaces the types of column definitions. Migrations write types in capitals and
// names in small letters.
func mapColumnTypes(ts tokens) {
	for i := range ts {
		if to, ok := columnTypes[ts[i].text]; ok && ts[i].kind == wordToken {
			ts[i].text = to
		}
	}
}

// translateTable translates CREATE TABLE. The column that SQLite fills with the next number gets a
// trigger that does the same. A table without a primary key gets the column rowid.
func translateTable(ts tokens) ([]statement, error) {
	open := slices.IndexFunc(ts, func(t token) bool { return t.text == "(" })
	shut := ts.closingParen(max(open, 0))
	if open < 0 || shut < 0 {
		return nil, errors.New("CREATE TABLE without columns")
	}
	name := ts[open-1].text
	head, body := slices.Clone(ts[:open+1]), slices.Clone(ts[open+1:shut])
	column, auto, keyed := "", false, false
	for i := 0; i < len(body); i++ {
		if !body.matchWords(i, "PRIMARY", "KEY") {
			continue
		}
		keyed = true
		if body.tokenAt(i - 1).isWord("INTEGER") {
			column = body.tokenAt(i - 2).text
			if auto = body.tokenAt(i + 2).isWord("AUTOINCREMENT"); auto {
				body = slices.Delete(body, i+2, i+3)
			}
		}
	}
	mapColumnTypes(body)
	rest, err := translateQuery(body)
	if err != nil {
		return nil, err
	}
	if !keyed {
		rest.text += ", rowid BIGINT PRIMARY KEY"
		column = "rowid"
	}
	out := []statement{{text: head.String() + rest.text + ")"}}
	if column == "" {
		return out, nil
	}
	next := fmt.Sprintf("SELECT coalesce(max(%[2]s), 0) + 1 INTO NEW.%[2]s FROM %[1]s", name, column)
	seen := ""
	if auto {
		out = append(out, statement{text: "INSERT INTO sqlite_sequence (name, seq) VALUES ('" + name + "', 0) ON CONFLICT DO NOTHING"})
		next = fmt.Sprintf("UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = '%s' RETURNING seq INTO NEW.%s", name, column)
		seen = fmt.Sprintf(" ELSE UPDATE sqlite_sequence SET seq = NEW.%[2]s WHERE name = '%[1]s' AND seq < NEW.%[2]s;", name, column)
	}
	function := triggerFunction(name + "_next")
	return append(out,
		statement{text: fmt.Sprintf("CREATE OR REPLACE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql AS $trigger$ BEGIN IF NEW.%s IS NULL THEN %s;%s END IF; RETURN NEW; END $trigger$", function, column, next, seen)},
		// PostgreSQL runs triggers in the order of their names: this one is first
		statement{text: fmt.Sprintf(`CREATE TRIGGER "0_%[1]s_next" BEFORE INSERT ON %[1]s FOR EACH ROW EXECUTE FUNCTION %[2]s()`, name, function)}), nil
}

func translateAlter(ts tokens) ([]statement, error) {
	ts = slices.Clone(ts)
	mapColumnTypes(ts)
	s, err := translateQuery(ts)
	out := []statement{s}
	if ts.matchWords(3, "RENAME", "TO") { // INSERT OR REPLACE names the constraint
		out = append(out, statement{text: fmt.Sprintf("ALTER INDEX IF EXISTS %s_pkey RENAME TO %s_pkey", ts.tokenAt(2).text, ts.tokenAt(5).text)})
	}
	return out, err
}

// triggerFunction returns the name of the function that a trigger runs.
func triggerFunction(trigger string) string { return "trigger_" + trigger }

// translateTrigger translates CREATE TRIGGER name BEFORE|AFTER event ON table [WHEN condition] BEGIN
// statements END to a function and a trigger.
func translateTrigger(ts tokens) ([]statement, error) {
	begin := slices.IndexFunc(ts, func(t token) bool { return t.isWord("BEGIN") })
	if begin < 3 || begin == len(ts)-1 || !ts[len(ts)-1].isWord("END") {
		return nil, errors.New("CREATE TRIGGER without a body")
	}
	name, head := ts.tokenAt(2).text, ts[3:begin]
	body := ""
	for _, one := range splitStatements(ts[begin+1 : len(ts)-1]) {
		s, err := translateAction(one)
		if err != nil {
			return nil, err
		}
		body += s + "; "
	}
	if when := slices.IndexFunc(head, func(t token) bool { return t.isWord("WHEN") }); when >= 0 {
		s, err := translateQuery(head[when+1:])
		if err != nil {
			return nil, err
		}
		body = "IF " + s.text + " THEN " + body + "END IF; "
		head = head[:when]
	}
	result := "NEW"
	if slices.ContainsFunc(head, func(t token) bool { return t.isWord("DELETE") }) {
		result = "OLD"
	}
	function := triggerFunction(name)
	return []statement{
		{text: "CREATE OR REPLACE FUNCTION " + function + "() RETURNS trigger LANGUAGE plpgsql AS $trigger$ BEGIN " + body + "RETURN " + result + "; END $trigger$"},
		{text: "CREATE TRIGGER " + name + " " + tokens(head).String() + " FOR EACH ROW EXECUTE FUNCTION " + function + "()"},
	}, nil
}

// translateAction translates a statement of a trigger.
func translateAction(ts tokens) (string, error) {
	if ts.matchWords(0, "SELECT", "RAISE") {
		return "RAISE EXCEPTION " + strings.ReplaceAll(ts.tokenAt(5).text, "%", "%%") + " USING ERRCODE = 'integrity_constraint_violation'", nil
	}
	s, err := translateQuery(ts)
	return s.text, err
}
