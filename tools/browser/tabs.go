package browser

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"hob/platform/host/browser"
	"hob/platform/provenance"
	"hob/tools"
)

type listIn struct {
	Browser string `json:"browser,omitempty" jsonschema:"hob (default), or the user's own on macOS: safari, chrome, edge, brave, arc"`
}

// tabList is the Data of a browser_list_tabs result.
type tabList struct {
	Tabs []browser.Tab `json:"tabs"`
}

func listTabs(d Deps) tools.Tool {
	return tools.New(tools.Def[listIn]{
		Spec: newSpec("browser_list_tabs", tools.Read, lookFor, "List the tabs that are open in Hob's browser, or on macOS in the user's own, with titles and addresses.",
			"browser tabs pages websites open list which chrome safari window"),
		Summary: func(in listIn) string {
			if a, mine, err := d.findUserBrowser(in.Browser); err == nil && !mine {
				return "List the tabs in your " + a.Title
			}
			return "List the tabs of the browser"
		},
		Judge: func(_ context.Context, in listIn) tools.CallAssessment {
			_, mine, err := d.findUserBrowser(in.Browser)
			return tools.CallAssessment{Private: !mine, Refused: err}
		},
		Run: func(ctx context.Context, _ tools.Call, in listIn) (tools.Result, error) {
			if _, mine, _ := d.findUserBrowser(in.Browser); !mine {
				return d.listOwn(ctx, in.Browser)
			}
			list := d.Browser.Tabs(ctx)
			if len(list) == 0 {
				return tools.Result{Source: provenance.Tool, Text: "No tab is open in my browser.", Data: tabList{[]browser.Tab{}}}, nil
			}
			var b strings.Builder
			var urls []string
			for _, t := range list {
				fmt.Fprintf(&b, "- %s: %s\n", t.ID, tabLine(t))
				urls = append(urls, t.URL)
			}
			return tools.Result{Text: strings.TrimSuffix(b.String(), "\n"), Data: tabList{list}, Source: provenance.Outside, Origins: webOrigins("browser_list_tabs", "open tabs"), Links: d.canonicalAddresses(urls...)}, nil
		},
	})
}

// tabLine formats a tab as one line.
func tabLine(t browser.Tab) string {
	title := t.Title
	if title == "" {
		title = "no title"
	}
	s := fmt.Sprintf("%s (%s)", title, t.URL)
	switch {
	case !t.Web():
		s = "not a web page"
	case t.Crashed:
		s += ", crashed"
	}
	if t.Active {
		s += ", active"
	}
	return s
}

type openIn struct {
	URL     string `json:"url" jsonschema:"https://host/path"`
	Browser string `json:"browser,omitempty" jsonschema:"hob (default), or the user's own on macOS: safari, chrome, edge, brave, arc"`
}

func openTab(d Deps) tools.Tool {
	return tools.New(tools.Def[openIn]{
		Spec: newSpec("browser_open_tab", tools.Egress, openFor, "Open a web address in a new tab of Hob's browser, for pages that need scripts or a login.",
			"browser new tab website url page go to visit link chrome safari login"),
		Summary: func(in openIn) string {
			if a, mine, err := d.findUserBrowser(in.Browser); err == nil && !mine {
				return "Open " + d.displayAddress(in.URL) + " in your own " + a.Title
			}
			return "Open " + d.displayAddress(in.URL) + " in the browser"
		},
		Judge: func(_ context.Context, in openIn) tools.CallAssessment {
			if _, mine, _ := d.findUserBrowser(in.Browser); !mine {
				return d.openingOwn(in.Browser, in.URL)
			}
			return d.assessNavigation(in.URL, "")
		},
		Run: func(ctx context.Context, _ tools.Call, in openIn) (tools.Result, error) {
			if _, mine, _ := d.findUserBrowser(in.Browser); !mine {
				return d.openOwn(ctx, in.Browser, in.URL)
			}
			u, err := d.Network.Check(normalizeAddress(in.URL))
			if err != nil {
				return tools.Result{}, classifyError(err, in.URL)
			}
			t, err := d.Browser.Open(ctx, u.String())
			if err != nil {
				return tools.Result{}, classifyError(err, in.URL)
			}
			return d.openedResult("browser_open_tab", t), nil
		},
	})
}

type tabIn struct {
	Tab string `json:"tab,omitempty" jsonschema:"such as t2; needed when several are open"`
}

type ofTabIn struct {
	Tab     string `json:"tab,omitempty" jsonschema:"such as t2; needed when several are open"`
	Browser string `json:"browser,omitempty" jsonschema:"hob (default), or the user's own on macOS: safari, chrome, edge, brave, arc"`
}

// describeTab describes the tab for an approval request.
func (in ofTabIn) describeTab(d Deps) string {
	if _, mine, err := d.findUserBrowser(in.Browser); err != nil || !mine {
		return d.describeUserTab(in.Browser, in.Tab)
	}
	return d.describeTabByID(in.Tab)
}

type oneTabIn struct {
	Tab     string `json:"tab" jsonschema:"such as t2"`
	Browser string `json:"browser,omitempty" jsonschema:"hob (default), or the user's own on macOS: safari, chrome, edge, brave, arc"`
}

func closeTab(d Deps) tools.Tool {
	return tools.New(tools.Def[ofTabIn]{
		Spec:    newSpec("browser_close_tab", tools.Write, lookFor, "Close a tab of Hob's browser, or on macOS of the user's own.", "browser close tab page shut chrome safari"),
		Summary: func(in ofTabIn) string { return "Close " + in.describeTab(d) },
		Judge: func(ctx context.Context, in ofTabIn) tools.CallAssessment {
			if _, mine, _ := d.findUserBrowser(in.Browser); !mine {
				return d.inOwn(ctx, in.Browser, in.Tab, tools.Write|tools.Destroy, "closes the tab with")
			}
			id, err := d.resolveTabID(ctx, in.Tab)
			if err != nil {
				return tools.CallAssessment{Refused: err}
			}
			t, err := d.Browser.Get(id)
			if err != nil {
				return tools.CallAssessment{Refused: classifyError(err, in.Tab)}
			}
			j := tools.CallAssessment{Exact: t.ID}
			if t.Own { // Hob opened the tab and did not use it since, so no data is lost
				j.Effects = tools.Read
			}
			return j
		},
		Run: func(ctx context.Context, c tools.Call, in ofTabIn) (tools.Result, error) {
			if _, mine, _ := d.findUserBrowser(in.Browser); !mine {
				a, t, err := d.findApprovedTab(ctx, in.Browser, in.Tab, c.Exact)
				if err == nil {
					err = d.Own.Close(ctx, a, t)
				}
				if err != nil {
					return tools.Result{}, outOfOwn(err)
				}
				return tools.Result{Source: provenance.Tool, Text: "Closed the tab " + t.ID + " of " + a.Title + "."}, nil
			}
			t, err := d.Browser.Get(in.Tab)
			if err == nil && t.ID != c.Exact {
				return tools.Result{}, tools.Errorf(tools.Conflict, "a different tab is active now; name a tab")
			}
			if err == nil {
				t, err = d.Browser.CloseTab(ctx, t.ID)
			}
			if err != nil {
				return tools.Result{}, classifyError(err, in.Tab)
			}
			return tools.Result{Source: provenance.Tool, Text: "Closed the tab " + t.ID + "."}, nil
		},
	})
}

func switchTab(d Deps) tools.Tool {
	return tools.New(tools.Def[oneTabIn]{
		Spec: newSpec("browser_switch_tab", tools.Read, lookFor, "Bring a tab of Hob's browser, or on macOS of the user's own, to the front.",
			"browser activate change tab focus front page chrome safari"),
		Summary: func(in oneTabIn) string { return "Switch to " + ofTabIn(in).describeTab(d) },
		Judge: func(ctx context.Context, in oneTabIn) tools.CallAssessment {
			if _, mine, _ := d.findUserBrowser(in.Browser); !mine {
				return d.inOwn(ctx, in.Browser, in.Tab, tools.Write, "switches to the tab with")
			}
			return tools.CallAssessment{}
		},
		Run: func(ctx context.Context, c tools.Call, in oneTabIn) (tools.Result, error) {
			if _, mine, _ := d.findUserBrowser(in.Browser); !mine {
				a, t, err := d.findApprovedTab(ctx, in.Browser, in.Tab, c.Exact)
				if err == nil {
					err = d.Own.Switch(ctx, a, t)
				}
				if err != nil {
					return tools.Result{}, outOfOwn(err)
				}
				return ofOwn("browser_switch_tab", a, t, "Now in front in "+a.Title+": "+t.ID+": "+cmp.Or(t.Title, "no title"), nil), nil
			}
			t, err := d.Browser.Switch(ctx, in.Tab)
			if err != nil {
				return tools.Result{}, classifyError(err, in.Tab)
			}
			return tools.Result{
				Text: "Now active: " + t.ID + ": " + tabLine(t), Data: t, Source: provenance.Outside, Origins: webOrigins("browser_switch_tab", t.URL), Links: d.canonicalAddresses(t.URL),
			}, nil
		},
	})
}

func getURL(d Deps) tools.Tool {
	return tools.New(tools.Def[ofTabIn]{
		Spec: newSpec("browser_get_url", tools.Read, lookFor, "Return the address and title of the page in a tab of Hob's browser, or on macOS of the user's own.",
			"browser url address link current website page chrome safari"),
		Summary: func(in ofTabIn) string { return "Show the address of " + in.describeTab(d) },
		Judge: func(_ context.Context, in ofTabIn) tools.CallAssessment {
			_, mine, err := d.findUserBrowser(in.Browser)
			return tools.CallAssessment{Private: !mine, Refused: err}
		},
		Run: func(ctx context.Context, _ tools.Call, in ofTabIn) (tools.Result, error) {
			if a, mine, _ := d.findUserBrowser(in.Browser); !mine {
				t, err := d.Own.Get(ctx, a, in.Tab)
				if err != nil {
					return tools.Result{}, outOfOwn(err)
				}
				return ofOwn("browser_get_url", a, t, cutTo(t.URL, 2000)+"\n"+t.Title, t), nil
			}
			id, err := d.resolveTabID(ctx, in.Tab)
			if err != nil {
				return tools.Result{}, err
			}
			t, err := d.Browser.Get(id)
			if err != nil {
				return tools.Result{}, classifyError(err, in.Tab)
			}
			if !t.Web() {
				return tools.Result{Source: provenance.Tool, Text: "The tab " + t.ID + " does not show a web page."}, nil
			}
			return tools.Result{
				Text: fmt.Sprintf("%s\n%s", t.URL, t.Title), Data: t, Source: provenance.Outside, Origins: webOrigins("browser_get_url", t.URL), Links: d.canonicalAddresses(t.URL),
			}, nil
		},
	})
}
