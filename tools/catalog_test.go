package tools_test

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/tools"
)

// simple is a tool that was not built with New.
type simple struct{ spec tools.Spec }

func (s simple) Spec() *tools.Spec { return &s.spec }
func (simple) Call(context.Context, tools.Call) (tools.Result, error) {
	return tools.Result{}, nil
}

func named(name, description, keywords string) tools.Tool {
	return simple{tools.Spec{Name: name, Category: "test", Description: description, Keywords: keywords, Effects: tools.Read, Core: strings.HasPrefix(name, "core")}}
}

func names(list []tools.Tool) (out []string) {
	for _, t := range list {
		out = append(out, t.Spec().Name)
	}
	return out
}

func TestCatalog(t *testing.T) {
	other := "plan9"
	elsewhere := simple{tools.Spec{Name: "elsewhere", Effects: tools.Read, Platforms: []string{other}}}
	here := simple{tools.Spec{Name: "here", Effects: tools.Read, Platforms: []string{other, runtime.GOOS}}}
	c, err := tools.NewCatalog(named("core_b", "", ""), elsewhere, here, named("zebra", "", ""), named("core_a", "", ""))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"core_a", "core_b", "here", "zebra"}, names(c.All())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"core_a", "core_b"}, names(c.Core())); diff != "" {
		t.Error(diff)
	}
	if tool, ok := c.Get("zebra"); !ok || tool.Spec().Name != "zebra" {
		t.Error("Get does not find zebra")
	}
	for _, name := range []string{"elsewhere", "Zebra", ""} {
		if _, ok := c.Get(name); ok {
			t.Errorf("Get finds %q", name)
		}
	}
	if _, err := tools.NewCatalog(named("a", "", ""), named("a", "", "")); err == nil || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("two tools with the same name: %v", err)
	}
	if _, err := tools.NewCatalog(simple{tools.Spec{Name: "x"}}); err == nil || !strings.Contains(err.Error(), "no effects") {
		t.Errorf("NewCatalog with a tool without effects = %v", err)
	}
	empty, err := tools.NewCatalog()
	if err != nil || len(empty.Search("anything", 5)) != 0 || len(empty.Core()) != 0 {
		t.Errorf("an empty catalogue: %v", err)
	}
}

func TestCatalog_Search(t *testing.T) {
	c, err := tools.NewCatalog(
		named("create_reminder", "Remind the owner of something at a time.", "alarm timer"),
		named("create_task", "Add a thing to do to the list.", "todo"),
		named("log_expense", "Record money that was spent.", "cost bill receipt"),
		named("read_file", "Read a text file.", ""),
		named("same_a", "Twins.", ""), named("same_b", "Twins.", ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		query string
		n     int
		want  []string
	}{
		{"log_expense", 1, []string{"log_expense"}},
		{"set reminders for me", 1, []string{"create_reminder"}},
		{"ALARM!", 1, []string{"create_reminder"}},
		{"todo", 1, []string{"create_task"}},
		{"I spent money", 5, []string{"log_expense"}},
		{"reading files", 1, []string{"read_file"}},
		{"twins", 5, []string{"same_a", "same_b"}},
		{"twins", 1, []string{"same_a"}},
		{"create", 2, []string{"create_reminder", "create_task"}},
		{"xyzzy", 5, nil},
		{"the of to", 5, nil},
		{"", 5, nil},
		{"money", 0, nil},
	} {
		if diff := cmp.Diff(tc.want, names(c.Search(tc.query, tc.n))); diff != "" {
			t.Errorf("%q: %s", tc.query, diff)
		}
	}
}

func foreign(name, description string) tools.Tool {
	return simple{tools.Spec{Name: name, Category: "mcp", Description: description, Effects: tools.Send, Foreign: true}}
}

func TestCatalog_ReplacesForeignTools(t *testing.T) {
	c, err := tools.NewCatalog(named("core_a", "", ""), named("read_file", "Read a file.", ""))
	if err != nil {
		t.Fatal(err)
	}
	follower, err := c.Following(func(s *tools.Spec) bool { return strings.HasPrefix(s.Name, "zoo__") }, c.Own()[0])
	if err != nil {
		t.Fatal(err)
	}
	before := c.All()
	if err := c.SetForeign("mcp:zoo", []tools.Tool{foreign("zoo__lookup", "Look up a zebra."), foreign("zoo__feed", "Feed.")}); err != nil {
		t.Fatal(err)
	}
	if err := c.SetForeign("mcp:other", []tools.Tool{foreign("other__lookup", "Something else.")}); err != nil {
		t.Fatal(err)
	}
	if len(before) != 2 {
		t.Error("a returned list has changed")
	}
	if diff := cmp.Diff([]string{"core_a", "other__lookup", "read_file", "zoo__feed", "zoo__lookup"}, names(c.All())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"core_a", "zoo__feed", "zoo__lookup"}, names(follower.All())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"core_a", "read_file"}, names(c.Own())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"zoo__lookup"}, names(c.Search("zebra", 5))); diff != "" {
		t.Error(diff)
	}
	for name, list := range map[string][]tools.Tool{
		"without a source":          {foreign("lookup", "")},
		"an own tool's name":        {foreign("core_a", "")},
		"another source's name":     {foreign("other__lookup", "")},
		"a look-alike":              {foreign("other__l00kup", "")},
		"two names that look alike": {foreign("zoo__new", ""), foreign("zoo__n_e_w", "")},
		"other characters":          {foreign("zoo__l\u043eokup", "")},
		"a line break":              {foreign("zoo__a\nb", "")},
		"one not marked":            {named("zoo__x", "", "")},
		"no effects":                {simple{tools.Spec{Name: "zoo__x", Foreign: true}}},
		"core":                      {simple{tools.Spec{Name: "zoo__x", Foreign: true, Core: true, Effects: tools.Read}}},
		"one good and one broken":   {foreign("zoo__good", ""), foreign("bad", "")},
	} {
		if err := c.SetForeign("mcp:zoo", list); err == nil {
			t.Errorf("%s: SetForeign returned no error", name)
		}
	}
	if _, ok := c.Get("zoo__lookup"); !ok {
		t.Error("a refused list changed the catalog")
	}
	if err := c.SetForeign("mcp:zoo", nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"core_a"}, names(follower.All())); diff != "" {
		t.Error(diff)
	}
}
