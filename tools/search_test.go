package tools_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/tools"
	"hob/tools/toolstest"
)

// largeCatalog returns a catalog of at least n plausible tools: the 164 tools in the file, and copies of
// them under other names.
func largeCatalog(tb testing.TB, n int) *tools.Catalog {
	list := toolstest.Fixture(tb, "testdata/search/specs.txt")
	for i := 0; len(list) < n; i++ {
		s := *list[i].Spec()
		s.Name = fmt.Sprintf("%s_%c", s.Name, 'a'+len(list)%26)
		if !slices.ContainsFunc(list, func(t tools.Tool) bool { return t.Spec().Name == s.Name }) {
			list = append(list, simple{s})
		}
	}
	c, err := tools.NewCatalog(list...)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func TestSearch_First(t *testing.T) {
	c := largeCatalog(t, 0)
	tests := []struct{ name, query, want string }{
		{"an exact name", "log_expense", "log_expense"},
		{"a name in a sentence", "use sessions_send to create a reminder", "sessions_send"},
		{"a name in camel case", "listTasks", "list_tasks"},
		{"a name with spaces", "get open ports", "get_open_ports"},
		{"a name of one word", "Recall", "recall"},
		{"an inflected form", "setting reminders", "create_reminder"},
		{"accents", "Prévisions MÉTÉO", "get_weather"},
		{"a compound", "Wettervorhersage", "get_weather"},
		{"two words written as one", "emptytrash", "empty_trash"},
		{"a typing error", "wheater", "get_weather"},
		{"swapped letters", "batetry", "get_battery_status"},
		{"another script", "погода", "get_weather"},
		{"capitals", "WEATHER!!!", "get_weather"},
		{"a phrase", "get rid of the file", "trash_file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := toolNames(c.Search(tt.query, 3))
			if len(got) == 0 || got[0] != tt.want {
				t.Errorf("%q finds %v, want %s first", tt.query, got, tt.want)
			}
		})
	}
}

func TestSearch_NoResults(t *testing.T) {
	c := largeCatalog(t, 0)
	for _, query := range []string{"", "the of and", "12345 67", "qqqqq zzzzzzz", "!?", "\xff\xfe", strings.Repeat("x", 10000)} {
		if got := toolNames(c.Search(query, 5)); len(got) > 0 {
			t.Errorf("%.20q finds %v", query, got)
		}
	}
}

func TestSearch_IsStable(t *testing.T) {
	query := "show me what is new in the mail and the calendar today, kalendar, notiz"
	want := toolNames(largeCatalog(t, 0).Search(query, 40))
	for range 5 {
		if diff := cmp.Diff(want, toolNames(largeCatalog(t, 0).Search(query, 40))); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestMatchCategory(t *testing.T) {
	c := largeCatalog(t, 0)
	for query, want := range map[string]string{
		"what can you do with files?": "files", "files": "files", "list all mail tools": "mail", "all tasks tools": "tasks",
		"read a file": "", "zzz": "", "": "", "what can you do?": "browser calendar canvas code contacts",
	} {
		var got []string
		for _, k := range c.MatchCategory(query) {
			got = append(got, k.Name)
		}
		if s := strings.Join(got[:min(5, len(got))], " "); s != want {
			t.Errorf("%q asks for %q, want %q", query, s, want)
		}
	}
	if near := c.Nearest("webzzz browzzer"); near[0].Name != "browser" && near[0].Name != "web" {
		t.Errorf("nearest is %s", near[0].Name)
	}
}

func TestSignature(t *testing.T) {
	tests := []struct{ name, schema, want string }{
		{"none", `{"type":"object"}`, "()"},
		{"kinds", `{"properties":{"b":{"type":"string","description":"two\nlines"},"a":{"type":"integer"}},"required":["a"]}`, `(b?: string "two lines", a: integer)`},
		{"choices", `{"properties":{"a":{"enum":["x","y",1]}}}`, `(a?: "x"|"y"|1)`},
		{"nested", `{"properties":{"a":{"type":"array","items":{"type":"object","properties":{"c":{"type":"boolean"}},"required":["c"]}}}}`, `(a?: {c: boolean}[])`},
		{"anything", `{"properties":{"a":{}}}`, "(a?: any)"},
		{"a schema that cannot be shortened", `{"anyOf":[{"type":"object"}]}`, `({"anyOf":[{"type":"object"}]})`},
		{"no schema", `not json`, "(not json)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tools.Spec{Name: "x", Effects: tools.Read | tools.Send, Description: "Do\nit.", Schema: func() json.RawMessage { return []byte(tt.schema) }}
			if diff := cmp.Diff("x"+tt.want+" [read+send] Do it.", s.Signature()); diff != "" {
				t.Error(diff)
			}
		})
	}
	long := tools.Spec{Name: "x", Effects: tools.Read, Description: strings.Repeat("ä", 4000), Schema: func() json.RawMessage { return []byte(`{"properties":{"` + strings.Repeat("ö", 4000) + `":{}}}`) }}
	if n := len(long.Signature()); n > 2000 {
		t.Errorf("the description of a foreign tool has %d bytes", n)
	}
}

func TestCatalog_ForeignToolsAreNotCore(t *testing.T) {
	if _, err := tools.NewCatalog(simple{tools.Spec{Name: "x", Effects: tools.Read, Foreign: true, Core: true}}); err == nil {
		t.Error("a foreign tool is offered in every request")
	}
}

func FuzzSearch(f *testing.F) {
	c := largeCatalog(f, 0)
	for _, s := range []string{"send mail", "Kalendereintrag", "can't", "прогноз", "ß", "a_b_c", "webserach", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		list := toolNames(c.Search(query, 7))
		if len(list) > 7 {
			t.Errorf("%d tools", len(list))
		}
		seen := map[string]bool{}
		for _, n := range list {
			if seen[n] {
				t.Errorf("%q returns %s twice", query, n)
			}
			seen[n] = true
		}
		c.MatchCategory(query)
		c.Nearest(query)
	})
}

func BenchmarkSearch(b *testing.B) {
	c := largeCatalog(b, 500)
	c.Search("x", 1)
	for name, query := range map[string]string{
		"plain": "create a calendar event for friday", "foreign": "Kalendereintrag verschieben bitte", "typo": "shedule a meting tomorow",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.Search(query, 5)
			}
		})
	}
}

func BenchmarkIndex(b *testing.B) {
	list := largeCatalog(b, 500).All()
	b.ReportAllocs()
	for b.Loop() {
		c, err := tools.NewCatalog(list...)
		if err != nil {
			b.Fatal(err)
		}
		c.Search("x", 1)
	}
}
