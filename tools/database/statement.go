package database

import (
	"slices"
	"strings"
	"unicode/utf8"

	"hob/platform/text/textnorm"
	"hob/tools"
)

// statement is one checked statement.
type statement struct {
	text  string
	calls []string // names that are followed by "(": functions, and some keywords
}

// The kinds of tokens.
const (
	wordToken   = 'w'
	quotedToken = 'q' // a quoted identifier, or in SQLite also a string
	stringToken = 's'
	otherToken  = 'o'
)

type token struct {
	kind byte
	text string // in lower case if it is a word
}

// readingVerbs lists the first words of statements that only read.
func readingVerbs(postgres bool) []string {
	if postgres {
		return []string{"select", "with", "values", "table", "explain", "show"}
	}
	return []string{"select", "with", "values", "explain"}
}

// parseStatement checks that text is one statement of a kind that only reads. The database enforces
// this, too, but with gaps: a second statement could end the read-only transaction, and PRAGMA,
// COPY and some functions act outside of it.
func parseStatement(text string, postgres bool) (statement, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxSQL || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return statement{}, tools.Errorf(tools.InvalidArguments, "sql must be valid text of at most %d bytes", maxSQL)
	}
	list, problem := scanTokens(text, postgres)
	if problem != "" {
		return statement{}, tools.Errorf(tools.InvalidArguments, "sql: %s", tools.Clean(problem))
	}
	for len(list) > 0 && list[len(list)-1].text == ";" {
		list = list[:len(list)-1]
	}
	for len(list) > 0 && list[0].text == "(" { // (SELECT ...) UNION (SELECT ...)
		i := slices.IndexFunc(list, func(t token) bool { return t.text != "(" })
		if i < 0 {
			list = nil
			break
		}
		if !slices.Contains(readingVerbs(postgres), list[i].text) {
			break
		}
		list = list[i:]
	}
	switch {
	case len(list) == 0:
		return statement{}, tools.Errorf(tools.InvalidArguments, "sql is empty")
	case slices.ContainsFunc(list, func(t token) bool { return t.kind == otherToken && t.text == ";" }):
		return statement{}, tools.Errorf(tools.InvalidArguments, "sql contains several statements; send them one by one")
	case list[0].kind != wordToken || !slices.Contains(readingVerbs(postgres), list[0].text):
		return statement{}, tools.Errorf(tools.PolicyDenied, "the databases are read-only, and a statement that begins with %q may write; use SELECT", tools.Clean(textnorm.Ellipsize(list[0].text, 30)))
	}
	if !postgres && slices.ContainsFunc(list, func(t token) bool {
		return t.kind == wordToken && (t.text == "pragma" || t.text == "attach" || t.text == "vacuum")
	}) {
		return statement{}, tools.Errorf(tools.PolicyDenied, "PRAGMA, ATTACH and VACUUM are refused, because they can change more than the database; use SELECT, and put a column with one of these names in quotes")
	}
	s := statement{text: text}
	for i := range len(list) - 1 {
		if t := list[i]; list[i+1].text == "(" && (t.kind == wordToken || t.kind == quotedToken) && !slices.Contains(s.calls, t.text) {
			s.calls = append(s.calls, t.text)
		}
	}
	for _, name := range s.calls {
		if isRefusedFunction(name) {
			return statement{}, refuseFunction(name)
		}
	}
	for i := range len(list) - 1 { // PostgreSQL calls f(t) for t.f if t has no column f
		if next := list[i+1]; postgres && list[i].text == "." && (next.kind == wordToken || next.kind == quotedToken) && !slices.Contains(s.calls, next.text) {
			s.calls = append(s.calls, next.text)
		}
	}
	return s, nil
}

func refuseFunction(name string) error {
	return tools.Errorf(tools.PolicyDenied, "the function %s is refused, because it can act outside of the query; remove it from the query", tools.Clean(textnorm.Ellipsize(name, 60)))
}

// isRefusedFunction reports whether a function reads files, loads code, opens other connections, or
// runs a statement that is given as text. PostgreSQL's volatile functions are refused in addition
// (see postgresEngine.refuseVolatile).
func isRefusedFunction(name string) bool {
	name = strings.ToLower(name)
	if slices.Contains([]string{"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit", "ts_stat"}, name) {
		return true
	}
	return slices.ContainsFunc([]string{
		"query_to_", "cursor_to_", "table_to_xml", "schema_to_", "database_to_", "crosstab", "connectby", "xpath_table", // run text as SQL
		"dblink", "http_", "pg_read_", "pg_ls_", "pg_stat_file", "pg_file_", "lo_", "set_config", "pg_notify", "pg_sleep",
		"pg_terminate_", "pg_cancel_", "pg_reload_", "pg_rotate_", "pg_promote", "pg_advisory_", "pg_try_advisory_", "pg_logical_",
		"pg_replication_", "pg_export_", "pg_import_", "pg_backup_", "pg_log_",
	}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// scanTokens splits a statement into tokens without comments. It returns a problem if it cannot be
// sure where a string or a comment ends.
func scanTokens(text string, postgres bool) (list []token, problem string) {
	s := scanner{text: text, postgres: postgres}
	for s.at < len(s.text) {
		if problem := s.scanToken(); problem != "" {
			return nil, problem
		}
	}
	return s.list, ""
}

// scanner is a lexer for the dialects of SQLite and PostgreSQL
// (https://www.sqlite.org/lang_expr.html, https://www.postgresql.org/docs/current/sql-syntax-lexical.html).
type scanner struct {
	text     string
	at       int
	postgres bool
	list     []token
}

func (s *scanner) addToken(kind byte, text string) { s.list = append(s.list, token{kind, text}) }

func (s *scanner) scanToken() (problem string) {
	rest := s.text[s.at:]
	c := rest[0]
	switch {
	case c <= ' ':
		s.at++
	case strings.HasPrefix(rest, "--"):
		end := strings.IndexAny(rest, "\n\r")
		if end < 0 {
			end = len(rest)
		}
		s.at += end
	case strings.HasPrefix(rest, "/*"):
		return s.skipComment()
	case c == '\'':
		return s.scanQuoted(stringToken, '\'', false)
	case c == '"', c == '`' && !s.postgres:
		return s.scanQuoted(quotedToken, c, false)
	case c == '[' && !s.postgres:
		end := strings.IndexByte(rest, ']')
		if end < 0 {
			return "a [ is not closed"
		}
		s.addToken(quotedToken, rest[1:end])
		s.at += end + 1
	case isWordStart(c):
		return s.scanWord()
	case c == '$' && s.postgres:
		return s.scanDollar()
	case c >= '0' && c <= '9':
		end := 1
		for end < len(rest) && (isWordPart(rest[end]) || rest[end] == '.') {
			end++
		}
		s.addToken(otherToken, rest[:end])
		s.at += end
	default:
		s.addToken(otherToken, rest[:1])
		s.at++
	}
	return ""
}

// skipComment skips a block comment. PostgreSQL nests them, SQLite does not.
func (s *scanner) skipComment() string {
	depth := 0
	for i := s.at; i+1 < len(s.text); i++ {
		switch s.text[i : i+2] {
		case "/*":
			if depth == 0 || s.postgres {
				depth++
			}
			i++
		case "*/":
			if depth--; depth == 0 {
				s.at = i + 2
				return ""
			}
			i++
		}
	}
	return "a comment is not closed"
}

// scanQuoted reads a quoted string or identifier, in which a doubled quote means one quote.
func (s *scanner) scanQuoted(kind byte, quote byte, backslash bool) string {
	var out strings.Builder
	for i := s.at + 1; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '\\' && backslash:
			i++
		case c == quote && i+1 < len(s.text) && s.text[i+1] == quote:
			out.WriteByte(c)
			i++
		case c == quote:
			s.addToken(kind, out.String())
			s.at = i + 1
			return ""
		default:
			out.WriteByte(c)
		}
	}
	return "a quote is not closed"
}

func (s *scanner) scanWord() string {
	end := s.at
	for end < len(s.text) && isWordPart(s.text[end]) {
		end++
	}
	w := strings.ToLower(s.text[s.at:end])
	s.at = end
	if s.postgres && end < len(s.text) {
		switch {
		case w == "e" && s.text[end] == '\'':
			return s.scanQuoted(stringToken, '\'', true)
		case w == "u" && s.text[end] == '&':
			return "write Unicode characters directly instead of U& escapes"
		}
	}
	s.addToken(wordToken, w)
	return ""
}

// scanDollar reads $1, or a string between two equal marks such as $$ or $tag$.
func (s *scanner) scanDollar() string {
	rest := s.text[s.at+1:]
	end := 0
	for end < len(rest) && isWordPart(rest[end]) && rest[end] != '$' {
		end++
	}
	if end == len(rest) || rest[end] != '$' || end > 0 && rest[0] >= '0' && rest[0] <= '9' {
		s.addToken(otherToken, "$"+rest[:end])
		s.at += 1 + end
		return ""
	}
	mark := "$" + rest[:end+1]
	body := s.text[s.at+len(mark):]
	n := strings.Index(body, mark)
	if n < 0 {
		return "a string in " + mark + " is not closed"
	}
	s.addToken(stringToken, body[:n])
	s.at += len(mark) + n + len(mark)
	return ""
}

func isWordStart(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func isWordPart(c byte) bool { return isWordStart(c) || c == '$' || c >= '0' && c <= '9' }
