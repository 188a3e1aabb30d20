package tools_test

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/tools"
)

// simple is a tool that New did not make.
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

func TestTheCatalog(t *testing.T) {
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
		t.Error("zebra is not there")
	}
	for _, name := range []string{"elsewhere", "Zebra", ""} {
		if _, ok := c.Get(name); ok {
			t.Errorf("%q is there", name)
		}
	}
	if _, err := tools.NewCatalog(named("a", "", ""), named("a", "", "")); err == nil || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("two of one name: %v", err)
	}
	if _, err := tools.NewCatalog(simple{tools.Spec{Name: "x"}}); err == nil || !strings.Contains(err.Error(), "no effects") {
		t.Errorf("no effects: %v", err)
	}
	empty, err := tools.NewCatalog()
	if err != nil || len(empty.Search("anything", 5)) != 0 || len(empty.Core()) != 0 {
		t.Errorf("an empty catalogue: %v", err)
	}
}

func TestCatalogSearch(t *testing.T) {
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
		{"todo", 5, []string{"create_task"}},
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
