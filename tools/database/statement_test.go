package database

import (
	"slices"
	"strings"
	"testing"

	"hob/tools"
)

func TestParseStatement_RefusesWhatMayWrite(t *testing.T) {
	tests := []struct {
		name     string
		sql      string
		postgres bool
		code     tools.Code // "" means accepted
	}{
		{"accepts a query", "SELECT 1", false, ""},
		{"accepts a trailing semicolon and comments", "-- all\nselect 1 /* ; */ ;", false, ""},
		{"accepts a union in parentheses", "(select 1) union (select 2)", true, ""},
		{"accepts a semicolon in a string", "select ';' || \";\"", false, ""},
		{"accepts a nested comment", "/* a /* b */ ; */ select 1", true, ""},
		{"accepts a dollar string", "select $x$ ; delete from t $x$", true, ""},
		{"accepts EXPLAIN", "explain analyze select 1", true, ""},
		{"accepts SHOW", "show server_version", true, ""},
		{"rejects DELETE", "delete from t", false, tools.PolicyDenied},
		{"rejects DELETE in parentheses", "((delete from t))", true, tools.PolicyDenied},
		{"rejects an empty text", " ; ", false, tools.InvalidArguments},
		{"rejects only parentheses", "((", false, tools.InvalidArguments},
		{"rejects two statements", "select 1; delete from t", true, tools.InvalidArguments},
		{"rejects text after a comment that is not nested", "/* a /* b */ ; delete from t -- */ select 1", false, tools.InvalidArguments},
		{"rejects an unclosed string", "select 'x", false, tools.InvalidArguments},
		{"rejects an unclosed comment", "select 1 /* x", false, tools.InvalidArguments},
		{"accepts a backslash quote in one string", `select E'\'; delete from t --'`, true, ""},
		{"rejects an escape that hides a name", `select U&"pg\005fsleep"(9)`, true, tools.InvalidArguments},
		{"rejects PRAGMA", "explain pragma query_only = 0", false, tools.PolicyDenied},
		{"rejects ATTACH", "attach 'x' as y", false, tools.PolicyDenied},
		{"rejects VACUUM INTO", "vacuum into 'x'", false, tools.PolicyDenied},
		{"rejects COPY", "copy t to program 'id'", true, tools.PolicyDenied},
		{"rejects SET", "set transaction read write", true, tools.PolicyDenied},
		{"rejects COMMIT", "commit", true, tools.PolicyDenied},
		{"rejects DO", "do $$ begin end $$", true, tools.PolicyDenied},
		{"rejects an extension", "select load_extension ('x')", false, tools.PolicyDenied},
		{"rejects reading a file", "select pg_catalog.pg_read_file('/etc/passwd')", true, tools.PolicyDenied},
		{"rejects a quoted name", `select "pg_sleep"/**/(9)`, true, tools.PolicyDenied},
		{"rejects SQL in a string", "select query_to_xml('delete from t', true, true, '')", true, tools.PolicyDenied},
		{"rejects a zero byte", "select 1\x00", false, tools.InvalidArguments},
		{"rejects a long text", "select " + strings.Repeat("1+", maxSQL), false, tools.InvalidArguments},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := parseStatement(tc.sql, tc.postgres)
			if (err == nil) != (tc.code == "") || err != nil && tools.CodeOf(err) != tc.code {
				t.Errorf("parseStatement(%q) = %v, want the code %q", tc.sql, err, tc.code)
			}
			if err != nil && !strings.ContainsAny(err.Error(), ";:e") {
				t.Errorf("parseStatement(%q) = %v, want a remedy", tc.sql, err)
			}
		})
	}
}

func TestParseStatement_NamesCalls(t *testing.T) {
	s, err := parseStatement(`select count(*), a."Odd" (1), 'no(' from t where x in (select f(1)) -- g(`, true)
	if want := []string{"count", "Odd", "in", "f"}; err != nil || !slices.Equal(s.calls, want) {
		t.Errorf("calls = %q, %v; want %q", s.calls, err, want)
	}
}

func FuzzParseStatement(f *testing.F) {
	for _, s := range []string{"select 1", "select $a$;$a$, E'\\'', \"x\"\"y\", [a] -- b", "/*/**/*/ with x as (select 1) select * from x", "select 'é' || $1"} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, text string, postgres bool) {
		s, err := parseStatement(text, postgres)
		if err != nil {
			return
		}
		if s.text == "" || len(s.text) > maxSQL {
			t.Errorf("accepted %q", text)
		}
		if _, err := parseStatement(s.text, postgres); err != nil {
			t.Errorf("parseStatement(%q) fails the second time: %v", s.text, err)
		}
	})
}
