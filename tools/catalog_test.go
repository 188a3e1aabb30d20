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

func newTool(name, description, keywords string) tools.Tool {
	return simple{tools.Spec{Name: name, Category: "test", Description: description, Keywords: keywords, Effects: tools.Read, Core: strings.HasPrefix(name, "core")}}
}

func toolNames(list []tools.Tool) (out []string) {
	for _, t := range list {
		out = append(out, t.Spec().Name)
	}
	return out
}

func TestCatalog(t *testing.T) {
	other := "plan9"
	elsewhere := simple{tools.Spec{Name: "elsewhere", Effects: tools.Read, Platforms: []string{other}}}
	here := simple{tools.Spec{Name: "here", Effects: tools.Read, Platforms: []string{other, runtime.GOOS}}}
	c, err := tools.NewCatalog(newTool("core_b", "", ""), elsewhere, here, newTool("zebra", "", ""), newTool("core_a", "", ""))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"core_a", "core_b", "here", "zebra"}, toolNames(c.All())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"core_a", "core_b"}, toolNames(c.Core())); diff != "" {
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
	if _, err := tools.NewCatalog(newTool("a", "", ""), newTool("a", "", "")); err == nil || !strings.Contains(err.Error(), `"a"`) {
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
		newTool("create_reminder", "Remind the owner of something at a time.", "alarm timer"),
		newTool("create_task", "Add a thing to do to the list.", "todo"),
		newTool("log_expense", "Record money that was spent.", "cost bill receipt"),
		newTool("read_file", "Read a text file.", ""),
		newTool("same_a", "Twins.", ""), newTool("same_b", "Twins.", ""))
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
		if diff := cmp.Diff(tc.want, toolNames(c.Search(tc.query, tc.n))); diff != "" {
			t.Errorf("%q: %s", tc.query, diff)
		}
	}
}

func foreignTool(name, description string) tools.Tool {
	return simple{tools.Spec{Name: name, Category: "mcp", Description: description, Effects: tools.Send, Foreign: true}}
}

func TestCatalog_ReplacesForeignTools(t *testing.T) {
	c, err := tools.NewCatalog(newTool("core_a", "", ""), newTool("read_file", "Read a file.", ""))
	if err != nil {
		t.Fatal(err)
	}
	follower, err := c.Following(func(s *tools.Spec) bool { return strings.HasPrefix(s.Name, "zoo__") }, c.Own()[0])
	if err != nil {
		t.Fatal(err)
	}
	before := c.All()
	if err := c.SetForeign("mcp:zoo", []tools.Tool{foreignTool("zoo__lookup", "Look up a zebra."), foreignTool("zoo__feed", "Feed.")}); err != nil {
		t.Fatal(err)
	}
	if err := c.SetForeign("mcp:other", []tools.Tool{foreignTool("other__lookup", "Something else.")}); err != nil {
		t.Fatal(err)
	}
	if len(before) != 2 {
		t.Error("a returned list has changed")
	}
	if diff := cmp.Diff([]string{"core_a", "other__lookup", "read_file", "zoo__feed", "zoo__lookup"}, toolNames(c.All())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"core_a", "zoo__feed", "zoo__lookup"}, toolNames(follower.All())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"core_a", "read_file"}, toolNames(c.Own())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"zoo__lookup"}, toolNames(c.Search("zebra", 5))); diff != "" {
		t.Error(diff)
	}
	for name, list := range map[string][]tools.Tool{
		"without a source":          {foreignTool("lookup", "")},
		"an own tool's name":        {foreignTool("core_a", "")},
		"another source's name":     {foreignTool("other__lookup", "")},
		"a look-alike":              {foreignTool("other__l00kup", "")},
		"two names that look alike": {foreignTool("zoo__new", ""), foreignTool("zoo__n_e_w", "")},
		"other characters":          {foreignTool("zoo__l\u043eokup", "")},
		"a line break":              {foreignTool("zoo__a\nb", "")},
		"one not marked":            {newTool("zoo__x", "", "")},
		"no effects":                {simple{tools.Spec{Name: "zoo__x", Foreign: true}}},
		"core":                      {simple{tools.Spec{Name: "zoo__x", Foreign: true, Core: true, Effects: tools.Read}}},
		"one good and one broken":   {foreignTool("zoo__good", ""), foreignTool("bad", "")},
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
	if diff := cmp.Diff([]string{"core_a"}, toolNames(follower.All())); diff != "" {
		t.Error(diff)
	}
}
