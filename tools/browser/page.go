package browser

import (
	"context"
	"fmt"
	"strings"

	"hob/platform/host/browser"
	"hob/platform/provenance"
	"hob/tools"
)

// maxLinks is the maximum number of addresses that are returned for one page.
const maxLinks = 300

func pageContentTool(d Deps) tools.Tool {
	return tools.New(tools.Def[ofTabIn]{
		Spec: newSpec("browser_get_page_content", tools.Read, lookFor,
			"Read the page in a tab of Hob's browser: its text, with handles ([e7 button ...]) for links, buttons and fields, and the addresses of links. In the user's own browser (macOS only) it reads only the text and asks the user.",
			"browser page content text website read extract form fields links buttons outline summarize chrome safari"),
		Summary: func(in ofTabIn) string { return "Read the page in " + in.describeTab(d) },
		Judge: func(ctx context.Context, in ofTabIn) tools.CallAssessment {
			if _, mine, _ := d.findUserBrowser(in.Browser); !mine {
				return d.inOwn(ctx, in.Browser, in.Tab, tools.Read|tools.Secret, "reads the page of")
			}
			return tools.CallAssessment{}
		},
		Run: func(ctx context.Context, c tools.Call, in ofTabIn) (tools.Result, error) {
			if _, mine, _ := d.findUserBrowser(in.Browser); !mine {
				return d.readOwn(ctx, c, in)
			}
			id, err := d.resolveTabID(ctx, in.Tab)
			if err != nil {
				return tools.Result{}, err
			}
			p, err := d.Browser.Content(ctx, id)
			if err != nil {
				return tools.Result{}, classifyError(err, in.Tab)
			}
			text, links := d.renderPage(p)
			return tools.Result{
				Text: text + d.sideEventsText(p.Tab), Source: provenance.Outside, Origins: webOrigins("browser_get_page_content", p.URL), Links: links,
				Data: pageData{p.Tab, p.URL, p.Title, p.Status, p.Loading, p.Cut, p.Elements},
			}, nil
		},
	})
}

// pageData is the Data of a browser_get_page_content result.
type pageData struct {
	Tab      string            `json:"tab"`
	URL      string            `json:"url"`
	Title    string            `json:"title,omitempty"`
	Status   int               `json:"status,omitempty"`
	Loading  bool              `json:"loading,omitempty"`
	Cut      bool              `json:"cut,omitempty"`
	Elements []browser.Element `json:"elements,omitempty"`
}

// renderPage renders a page for the model and returns the addresses on it.
func (d Deps) renderPage(c *browser.Content) (string, []string) {
	var b strings.Builder
	if c.Title != "" {
		fmt.Fprintf(&b, "Title: %s\n", c.Title)
	}
	fmt.Fprintf(&b, "Address: %s\nTab: %s\n", c.URL, c.Tab)
	if c.Status >= 400 {
		fmt.Fprintf(&b, "The server responded with status %d.\n", c.Status)
	}
	b.WriteString("\n")
	if strings.TrimSpace(c.Text) == "" {
		b.WriteString("The page has no text.")
	}
	b.WriteString(strings.TrimSpace(c.Text))
	links := d.canonicalAddresses(c.URL)
	known := map[string]bool{}
	for _, e := range c.Elements {
		list := d.canonicalAddresses(e.Href)
		if len(list) == 0 || known[list[0]] || len(links) > maxLinks {
			continue
		}
		if len(known) == 0 {
			b.WriteString("\n\nLinks:")
		}
		known[list[0]] = true
		links = append(links, list[0])
		fmt.Fprintf(&b, "\n%s %s", e.Handle, list[0])
	}
	for _, s := range pageRemarks(c) {
		b.WriteString("\n\n(" + s + ")")
	}
	return b.String(), links
}

// pageRemarks returns notes about the page for the model.
func pageRemarks(c *browser.Content) []string {
	var out []string
	if c.Cut {
		out = append(out, "Only the beginning of the page was read.")
	}
	if c.Loading {
		out = append(out, "The page is still loading; read it again later for the rest.")
	}
	if len(c.Frames) > 0 {
		out = append(out, "Frames from other sites were not read: "+strings.Join(c.Frames, ", "))
	}
	if c.Secrets > 0 {
		out = append(out, "The user must fill in the fields for passwords and cards in the browser window.")
	}
	return out
}

type navigateIn struct {
	URL    string `json:"url,omitempty" jsonschema:"https://host/path"`
	Action string `json:"action,omitempty" jsonschema:"instead of url: back, forward or reload"`
	Tab    string `json:"tab,omitempty" jsonschema:"such as t2; needed when several are open"`
}

func navigateTool(d Deps) tools.Tool {
	return tools.New(tools.Def[navigateIn]{
		Spec: newSpec("browser_navigate", tools.Egress, openFor, "Open another address in a tab of Hob's browser, go back or forward, or load its page again.",
			"browser go to url visit back forward history reload refresh page address navigate chrome safari"),
		Summary: func(in navigateIn) string {
			if in.URL == "" {
				return fmt.Sprintf("In %s: %.20q", d.describeTabByID(in.Tab), in.Action)
			}
			return "Open " + d.displayAddress(in.URL) + " in " + d.describeTabByID(in.Tab)
		},
		Judge: func(ctx context.Context, in navigateIn) tools.CallAssessment {
			ctx, cancel := context.WithTimeout(ctx, judgeFor)
			defer cancel()
			t, to, err := d.resolveNavigation(ctx, in)
			if err != nil {
				return tools.CallAssessment{Refused: err}
			}
			return d.assessNavigation(to, encodeBinding(navigationBinding{t.ID, to}))
		},
		Run: func(ctx context.Context, c tools.Call, in navigateIn) (tools.Result, error) {
			t, to, err := d.resolveNavigation(ctx, in)
			if err != nil {
				return tools.Result{}, err
			}
			if encodeBinding(navigationBinding{t.ID, to}) != c.Exact {
				return tools.Result{}, tools.Errorf(tools.Conflict, "the tab now shows a different page; read the page again")
			}
			u, err := d.Network.Check(to)
			if err != nil {
				return tools.Result{}, classifyError(err, in.URL)
			}
			if delta := historySteps(in.Action); delta != 0 {
				t, err = d.Browser.Go(ctx, t.ID, delta, to)
			} else {
				t, err = d.Browser.Navigate(ctx, t.ID, u.String())
			}
			if err != nil {
				return tools.Result{}, classifyError(err, in.URL)
			}
			return d.openedResult("browser_navigate", t), nil
		},
	})
}

// navigationBinding is the approval binding of a navigation.
type navigationBinding struct {
	Tab string `json:"tab"`
	URL string `json:"url"`
}

// historySteps returns the number of steps that an action moves in the history.
func historySteps(action string) int {
	switch action {
	case "back":
		return -1
	case "forward":
		return 1
	}
	return 0
}

// resolveNavigation resolves the tab and the target address.
func (d Deps) resolveNavigation(ctx context.Context, in navigateIn) (browser.Tab, string, error) {
	id, err := d.resolveTabID(ctx, in.Tab)
	if err != nil {
		return browser.Tab{}, "", err
	}
	t, err := d.Browser.Get(id)
	if err != nil {
		return t, "", classifyError(err, in.Tab)
	}
	switch {
	case in.URL != "" && in.Action == "":
		return t, normalizeAddress(in.URL), nil
	case in.URL == "" && in.Action == "reload":
		if strings.HasSuffix(t.URL, "…") {
			return t, "", tools.Errorf(tools.Unsupported, "the address of the page is too long to reload it")
		}
		return t, t.URL, nil
	case in.URL == "" && historySteps(in.Action) != 0:
		to, err := d.Browser.History(ctx, t.ID, historySteps(in.Action))
		if err != nil {
			return t, "", classifyError(err, in.Tab)
		}
		return t, to, nil
	}
	return t, "", tools.Errorf(tools.InvalidArguments, `browser_navigate takes a url, or one of the actions "back", "forward" and "reload"`)
}
