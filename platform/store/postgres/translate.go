package postgres

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// statement is a statement in the dialect of PostgreSQL.
type statement struct {
	text    string
	params  int    // number of parameters
	changes string // table whose rows it changes, or ""
}

// translateScript returns the statements of a script in the dialect of PostgreSQL. A statement that has no
// counterpart, such as one about a full-text index, is left out.
func translateScript(query string) ([]statement, error) {
	ts, err := splitTokens(query)
	if err != nil {
		return nil, err
	}
	var out []statement
	virtual := map[string]bool{} // full-text indexes of this script
	for _, one := range splitStatements(ts) {
		if one.matchWords(0, "CREATE", "VIRTUAL", "TABLE") {
			virtual[one.tokenAt(3).text] = true
		}
		if slices.ContainsFunc(one, func(t token) bool { return t.kind == wordToken && virtual[t.text] }) {
			continue
		}
		made, err := translateStatement(one)
		if err != nil {
			return nil, fmt.Errorf("translate SQL: %w in %q", err, one.String())
		}
		out = append(out, made...)
	}
	return out, nil
}

// splitStatements splits a script at its semicolons, except those inside a trigger.
func splitStatements(ts tokens) (out []tokens) {
	start, depth := 0, 0
	trigger := false
	for i, t := range ts {
		switch {
		case i == start:
			trigger, depth = ts.matchWords(i, "CREATE", "TRIGGER"), 0
		case trigger && (t.isWord("BEGIN") || t.isWord("CASE")):
			depth++
		case trigger && t.isWord("END"):
			depth--
		}
		if t.text == ";" && depth == 0 {
			if i > start {
				out = append(out, ts[start:i])
			}
			start = i + 1
		}
	}
	if start < len(ts) {
		out = append(out, ts[start:])
	}
	return out
}

func translateStatement(ts tokens) ([]statement, error) {
	switch {
	case ts.matchWords(0, "CREATE", "TABLE") && !ts.tokenAt(3).isWord("AS"):
		return translateTable(ts)
	case ts.matchWords(0, "CREATE", "TRIGGER"):
		return translateTrigger(ts)
	case ts.matchWords(0, "ALTER", "TABLE"):
		return translateAlter(ts)
	case ts.matchWords(0, "DROP", "TRIGGER"): // DROP TRIGGER of PostgreSQL needs the table
		return []statement{{text: "DROP FUNCTION IF EXISTS " + triggerFunction(ts[len(ts)-1].text) + "() CASCADE"}}, nil
	case ts.matchWords(0, "DROP", "TABLE"):
		name := ts[len(ts)-1].text
		return []statement{{text: "DROP TABLE IF EXISTS " + name}, {text: "DELETE FROM sqlite_sequence WHERE name = '" + name + "'"}}, nil
	case ts.matchWords(0, "PRAGMA"):
		return nil, nil
	}
	s, err := translateQuery(ts)
	s.changes = ts.changedTable()
	return []statement{s}, err
}

// changedTable returns the table of an INSERT, UPDATE or DELETE, which may follow a WITH clause.
func (ts tokens) changedTable() string {
	depth := 0
	for i, t := range ts {
		switch {
		case t.text == "(":
			depth++
		case t.text == ")":
			depth--
		case depth > 0:
		case t.isWord("INTO"), t.isWord("UPDATE"), ts.matchWords(i-1, "DELETE", "FROM"):
			return strings.Trim(ts.tokenAt(i+1).text, `"`)
		}
	}
	return ""
}

// functionNames lists the functions whose names PostgreSQL uses otherwise.
var functionNames = map[string]string{"random": "sqlite_random", "char": "chr"}

// translateQuery translates everything except DDL. What SQLite's functions do is defined by functions
// of the same name in the database (see functions.sql).
func translateQuery(ts tokens) (statement, error) {
	ts = slices.Clone(ts)
	end, ts, err := translateInsert(ts)
	if err != nil {
		return statement{}, err
	}
	params := 0
	for i := 0; i < len(ts); i++ {
		t := &ts[i]
		switch {
		case t.kind == paramToken:
			n := params + 1
			if len(t.text) > 1 {
				n, _ = strconv.Atoi(t.text[1:])
			}
			params = max(params, n)
			t.text = "$" + strconv.Itoa(n)
		case t.kind == blobToken:
			t.text = `'\x` + t.text[2:] + `::bytea`
		case t.text == "=" && ts.tokenAt(i-1).text == "=" && t.gap == "":
			ts = slices.Delete(ts, i, i+1)
			i--
		case t.kind == wordToken:
			if ts, err = translateWord(ts, i); err != nil {
				return statement{}, err
			}
		}
	}
	return statement{text: ts.String() + end, params: params}, nil
}

// translateInsert removes OR IGNORE and OR REPLACE and returns the clause that ends the statement
// instead.
func translateInsert(ts tokens) (end string, _ tokens, err error) {
	if ts.matchWords(0, "UPDATE", "OR") {
		return "", nil, fmt.Errorf("UPDATE OR %s is not supported", ts.tokenAt(2).text)
	}
	i := slices.IndexFunc(ts, func(t token) bool { return t.isWord("INSERT") })
	if i < 0 || !ts.tokenAt(i+1).isWord("OR") {
		return "", ts, nil
	}
	if i+2 >= len(ts) {
		return "", nil, errors.New("INSERT OR without an action")
	}
	how := strings.ToUpper(ts.tokenAt(i + 2).text)
	ts = slices.Delete(ts, i+1, i+3)
	switch how {
	case "IGNORE":
		end = " ON CONFLICT DO NOTHING"
	case "REPLACE":
		table, open := ts.tokenAt(i+2).text, i+3
		shut := ts.closingParen(open)
		if ts.tokenAt(open).text != "(" || shut < 0 {
			return "", nil, errors.New("INSERT OR REPLACE needs a list of all columns")
		}
		end = " ON CONFLICT ON CONSTRAINT " + table + "_pkey DO UPDATE SET "
		for _, c := range ts[open+1 : shut] {
			if c.text == "," {
				end += ", "
			} else {
				end += c.text + " = excluded." + c.text
			}
		}
	default:
		return "", nil, fmt.Errorf("INSERT OR %s is not supported", how)
	}
	depth := 0
	for i, t := range ts {
		switch {
		case t.text == "(":
			depth++
		case t.text == ")":
			depth--
		case depth == 0 && t.isWord("RETURNING"):
			return "", slices.Insert(ts, i, token{wordToken, "", end + " "}), nil
		}
	}
	return end, ts, nil
}

// translateWord translates the construction that begins or ends with the word at index i.
func translateWord(ts tokens, i int) (tokens, error) {
	switch word := strings.ToUpper(ts[i].text); word {
	case "INDEXED":
		if ts.tokenAt(i+1).isWord("BY") && i+2 < len(ts) {
			return slices.Delete(ts, i, i+3), nil
		}
	case "COLLATE":
		if ts.tokenAt(i + 1).isWord("NOCASE") {
			return foldOperand(ts, i)
		}
	case "LIKE":
		ts[i].text = "ILIKE"
	case "GLOB":
		ts[i].text = "~ sqlite_glob("
		if i+1 >= len(ts) {
			return nil, errors.New("GLOB without a pattern")
		}
		ts[i+1].gap = ""
		return slices.Insert(ts, i+2, token{otherToken, "", ")"}), nil
	case "CAST":
		return translateCast(ts, i)
	case "CROSS":
		if ts.tokenAt(i+1).isWord("JOIN") && joinHasCondition(ts[i+2:]) {
			return slices.Delete(ts, i, i+1), nil
		}
	case "FROM", "JOIN":
		return nameSubquery(ts, i), nil
	case "LIMIT":
		return translateLimit(ts, i), nil
	case "IS":
		return translateIs(ts, i), nil
	default:
		if name, ok := functionNames[strings.ToLower(word)]; ok && ts.tokenAt(i+1).text == "(" {
			ts[i].text = name
		}
	}
	return ts, nil
}

// foldOperand replaces X COLLATE NOCASE, whose COLLATE is at index i, by its lower-case ASCII text.
func foldOperand(ts tokens, i int) (tokens, error) {
	from := i - 1
	switch t := ts.tokenAt(from); {
	case t.text == ")":
		if from = ts.openingParen(from); from > 0 && ts[from].gap == "" && ts[from-1].kind == wordToken {
			from--
		}
	case t.kind == wordToken && ts.tokenAt(from-1).text == ".":
		from -= 2
	case t.kind != wordToken && !strings.HasPrefix(t.text, "$"):
		from = -1
	}
	if from < 0 {
		return nil, errors.New("COLLATE NOCASE has an operand that cannot be found")
	}
	open := "lower("
	ts[i].text, ts[i].gap = `COLLATE "C")`, " "
	if strings.HasPrefix(ts[from].text, "$") {
		open, ts[i].text = "lower(CAST(", `AS text) COLLATE "C")`
	}
	ts = slices.Delete(ts, i+1, i+2)
	gap := ts[from].gap
	ts[from].gap = ""
	return slices.Insert(ts, from, token{otherToken, gap, open}), nil
}

// translateCast translates CAST(x AS type). PostgreSQL would refuse a text that is no number, and show
// a blob in hexadecimal.
func translateCast(ts tokens, i int) (tokens, error) {
	shut := ts.closingParen(i + 1)
	if shut < 0 || !ts.tokenAt(shut-2).isWord("AS") {
		return nil, errors.New("CAST without a type")
	}
	switch to := strings.ToUpper(ts[shut-1].text); to {
	case "TEXT", "INTEGER", "REAL":
		ts[i].text = "sqlite_" + strings.ToLower(to)
		return slices.Delete(ts, shut-2, shut), nil
	}
	return ts, nil
}

// joinHasCondition reports whether a join, whose tokens begin with its table, has an ON clause.
func joinHasCondition(ts tokens) bool {
	depth := 0
	for _, t := range ts {
		switch {
		case t.text == "(":
			depth++
		case t.text == ")":
			depth--
		case depth > 0:
		case t.isWord("ON"):
			return true
		case t.isWord("JOIN"), t.isWord("WHERE"), t.isWord("GROUP"), t.isWord("ORDER"), t.isWord("LIMIT"), t.isWord("UNION"), depth < 0:
			return false
		}
	}
	return false
}

// nameSubquery gives a subquery after the word at index i a name, if it has none.
func nameSubquery(ts tokens, i int) tokens {
	first := ts.tokenAt(i + 2)
	shut := ts.closingParen(i + 1)
	if ts.tokenAt(i+1).text != "(" || shut < 0 || !first.isWord("SELECT") && !first.isWord("VALUES") && !first.isWord("WITH") {
		return ts
	}
	switch next := ts.tokenAt(shut + 1); {
	case next.kind == quotedToken, next.isWord("AS"):
		return ts
	case next.kind == wordToken && !slices.Contains(clauseWords, strings.ToUpper(next.text)):
		return ts
	}
	return slices.Insert(ts, shut+1, token{wordToken, " ", "AS subquery_" + strconv.Itoa(i)})
}

// clauseWords lists the words that can follow a table without a name.
var clauseWords = []string{"WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "UNION", "EXCEPT", "INTERSECT", "JOIN", "LEFT", "INNER", "CROSS", "ON", "RETURNING"}

// translateLimit translates a negative limit, which means no limit in SQLite.
func translateLimit(ts tokens, i int) tokens {
	switch {
	case ts.tokenAt(i+1).text == "-" && ts.tokenAt(i+2).text == "1":
		return slices.Delete(ts, i, i+3)
	case ts.tokenAt(i+1).kind == paramToken:
		ts[i].text = "LIMIT nullif("
		ts[i+1].gap = ""
		return slices.Insert(ts, i+2, token{otherToken, "", ", -1)"})
	}
	return ts
}

// translateIs translates a comparison of values that may be NULL.
func translateIs(ts tokens, i int) tokens {
	next := i + 1
	not := ts.tokenAt(next).isWord("NOT")
	if not {
		next++
	}
	for _, w := range []string{"NULL", "TRUE", "FALSE", "DISTINCT"} {
		if ts.tokenAt(next).isWord(w) {
			return ts
		}
	}
	if not {
		ts[i+1].text = "DISTINCT FROM"
	} else {
		ts[i].text = "IS NOT DISTINCT FROM"
	}
	return ts
}
