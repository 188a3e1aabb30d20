package browser

import (
	"context"
	"strings"
	"testing"

	"hob/platform/host/browser"
	"hob/tools"
)

// tabsOnly is a fake Driver that only lists tabs.
type tabsOnly struct {
	Driver
	list []browser.Tab
}

func (b tabsOnly) Tabs(context.Context) []browser.Tab { return b.list }

func (b tabsOnly) Get(string) (browser.Tab, error) { return b.list[len(b.list)-1], nil }

func (tabsOnly) Dialogs(string) []string { return nil }

func (tabsOnly) Notes() []string { return nil }

// TestTab_MustBeNamedIfSeveralAreOpen checks that a call without a tab id fails if several tabs are open, so that a
// conversation does not read the page of another conversation.
func TestTab_MustBeNamedIfSeveralAreOpen(t *testing.T) {
	one := tabsOnly{list: []browser.Tab{{ID: "t1", URL: "https://a.example/"}}}
	two := tabsOnly{list: append(one.list, browser.Tab{ID: "t2", URL: "https://b.example/"})}
	for _, tc := range []struct {
		name string
		b    tabsOnly
		in   string
		want string
	}{
		{"one", one, "", ""},
		{"two", two, "", "2 tabs are open"},
		{"two, one is named", two, "t2", ""},
	} {
		id, err := Deps{Browser: tc.b}.resolveTabID(t.Context(), tc.in)
		if tc.want == "" && (err != nil || id != tc.in) || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %q, %v", tc.name, id, err)
		}
	}
	if _, _, err := (Deps{Browser: two}).resolveNavigation(t.Context(), navigateIn{Action: "reload"}); tools.CodeOf(err) != tools.InvalidArguments {
		t.Error(err)
	}
	long := tabsOnly{list: []browser.Tab{{ID: "t1", URL: "https://a.example/" + strings.Repeat("x", 2000) + "…"}}}
	if _, to, err := (Deps{Browser: long}).resolveNavigation(t.Context(), navigateIn{Action: "reload"}); err == nil {
		t.Errorf("reload opens a truncated address: %.50s", to)
	}
}
