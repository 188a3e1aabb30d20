package all

import (
	"context"
	"fmt"

	"hob/platform/host/browser"
	"hob/platform/host/browser/apps"
	"hob/tools/toolstest"
)

// tabList is a fake browser that only stores a list of tabs.
type tabList struct{ list []browser.Tab }

func (b *tabList) Tabs(context.Context) []browser.Tab { return b.list }

func (b *tabList) Get(id string) (browser.Tab, error) {
	for _, t := range b.list {
		if t.ID == id || id == "" && t.Active {
			return t, nil
		}
	}
	return browser.Tab{}, &browser.Error{Kind: browser.NoTab, Message: "there is no tab " + id}
}

func (b *tabList) Open(_ context.Context, address string) (browser.Tab, error) {
	for i := range b.list {
		b.list[i].Active = false
	}
	t := browser.Tab{ID: fmt.Sprintf("t%d", len(b.list)+1), Title: "Boilers", URL: address, Active: true, Own: true}
	b.list = append(b.list, t)
	return t, nil
}

func (b *tabList) Navigate(ctx context.Context, id, address string) (browser.Tab, error) {
	t, err := b.Get(id)
	t.URL, t.Title = address, "Elsewhere"
	return t, err
}

func (b *tabList) CloseTab(_ context.Context, id string) (browser.Tab, error) { return b.Get(id) }

func (b *tabList) Switch(_ context.Context, id string) (browser.Tab, error) { return b.Get(id) }

func (b *tabList) Content(_ context.Context, id string) (*browser.Content, error) {
	t, err := b.Get(id)
	if err != nil {
		return nil, err
	}
	return &browser.Content{
		Tab: t.ID, Title: t.Title, URL: t.URL, Status: 200, Text: "# Boilers\nThey are warm. [e1 link] More", Secrets: 1,
		Elements: []browser.Element{{Handle: "e1", Kind: "link", Name: "More", Href: "http://boiler.example/b", Plain: true}},
	}, nil
}

func (b *tabList) History(context.Context, string, int) (string, error) {
	return "http://boiler.example/0", nil
}

func (b *tabList) Go(ctx context.Context, id string, _ int, address string) (browser.Tab, error) {
	return b.Navigate(ctx, id, address)
}

func (b *tabList) Describe(_ context.Context, id, handle string) (browser.Described, error) {
	t, err := b.Get(id)
	d := browser.Described{Tab: t.ID, URL: t.URL}
	switch handle {
	case "e1":
		d.Element = browser.Element{Handle: "e1", Kind: "link", Name: "More", Href: "http://boiler.example/b", Plain: true}
	case "e2":
		d.Element, d.Form = browser.Element{Handle: "e2", Kind: "button", Name: "Buy"}, &browser.Form{Action: "http://till.example/", Method: "post", Fields: []string{"size=9"}}
	case "e3":
		d.Element = browser.Element{Handle: "e3", Kind: "text", Name: "Name"}
	default:
		d.Element = browser.Element{Handle: handle, Kind: "password", Secret: true}
	}
	return d, err
}

func (b *tabList) ElementOf(string) (e browser.Element, tab, page string, ok bool) {
	return e, "", "", false
}

func (b *tabList) Click(ctx context.Context, id, handle string, check browser.Check) (browser.Done, error) {
	d, err := b.Describe(ctx, id, handle)
	if err == nil {
		err = check([]browser.Described{d})
	}
	t, _ := b.Get(id)
	return browser.Done{Tab: t}, err
}

func (b *tabList) Fill(ctx context.Context, id string, fields []browser.Field, _ bool, check browser.Check) (browser.Done, error) {
	return b.Click(ctx, id, fields[0].Handle, check)
}

func (b *tabList) Execute(_ context.Context, id, code string, check browser.Check) (string, error) {
	t, _ := b.Get(id)
	return "value of " + code, check([]browser.Described{{Tab: t.ID, URL: t.URL}})
}

func (b *tabList) Screenshot(context.Context, string) ([]byte, browser.Tab, error) {
	t, err := b.Get("")
	return []byte("picture"), t, err
}

func (b *tabList) Dialogs(string) []string { return nil }

func (b *tabList) Notes() []string { return nil }

// owners is a fake for the user's browsers, so that the tests do not need a Mac.
type owners struct{}

func (owners) List(context.Context, apps.App) (apps.List, error) {
	return apps.List{Tabs: []apps.Tab{{ID: "1.2", Title: "Inbox", URL: "https://mail.example/?id=7", Active: true}}, Total: 10, Hidden: 1}, nil
}

func (owners) Get(context.Context, apps.App, string) (apps.Tab, error) {
	return apps.Tab{ID: "1.2", Title: "Inbox", URL: "https://mail.example/?id=7", Active: true}, nil
}

func (owners) Open(_ context.Context, _ apps.App, address string) (apps.Tab, error) {
	return apps.Tab{ID: "1.3", URL: address}, nil
}

func (owners) Close(context.Context, apps.App, apps.Tab) error { return nil }

func (owners) Switch(context.Context, apps.App, apps.Tab) error { return nil }

func (owners) Read(context.Context, apps.App, apps.Tab) (apps.Text, error) {
	return apps.Text{Text: "Dear Ada"}, nil
}

func (owners) Execute(_ context.Context, _ apps.App, _ apps.Tab, code string) (apps.Text, error) {
	return apps.Text{Text: "value of " + code}, nil
}

func browserCases() []toolstest.Case {
	open := newStep("browser_open_tab", `{"url":"http://boiler.example/a"}`)
	return []toolstest.Case{
		{Step: newStep("browser_list_tabs", `{}`), Want: "No tab is open in my browser."},
		{Step: open, Want: ": Boilers\nAddress: http://boiler.example/a", Outside: true},
		{Step: newStep("browser_list_tabs", `{}`), Before: []toolstest.Step{open}, Want: "- t1: Boilers (http://boiler.example/a), active", Outside: true},
		{Step: newStep("browser_get_url", `{}`), Before: []toolstest.Step{open}, Want: "http://boiler.example/a\nBoilers", Outside: true},
		{Step: newStep("browser_switch_tab", `{"tab":"t1"}`), Before: []toolstest.Step{open}, Want: "Now active: t1: Boilers", Outside: true},
		{
			Step: newStep("browser_get_page_content", `{}`), Before: []toolstest.Step{open},
			Want: "Title: Boilers\nAddress: http://boiler.example/a\nTab: t1\n\n# Boilers\nThey are warm. [e1 link] More\n\nLinks:\ne1 http://boiler.example/b\n\n(The user must fill in the fields for passwords and cards in the browser window.", Outside: true,
		},
		{Step: newStep("browser_navigate", `{"url":"boiler.example/b"}`), Before: []toolstest.Step{open}, Want: "Opened in tab t1: Elsewhere\nAddress: https://boiler.example/b", Outside: true},
		{Step: newStep("browser_navigate", `{"action":"reload"}`), Before: []toolstest.Step{open}, Want: "Address: http://boiler.example/a", Outside: true},
		{Step: newStep("browser_navigate", `{"action":"back"}`), Before: []toolstest.Step{open}, Want: "Address: http://boiler.example/0", Outside: true},
		{Step: newStep("browser_click", `{"element":"e1"}`), Before: []toolstest.Step{open}, Want: "Address: http://boiler.example/b", Outside: true},
		{Step: newStep("browser_click", `{"element":"e2"}`), Before: []toolstest.Step{open}, Want: `Clicked the button "Buy".`, Outside: true},
		{Step: newStep("browser_fill_form", `{"fields":[{"element":"e3","value":"Ada"}],"submit":true}`), Before: []toolstest.Step{open}, Want: "Filled in and submitted the form.", Outside: true},
		{Step: newStep("browser_execute_js", `{"script":"1+1"}`), Before: []toolstest.Step{open}, Want: "value of 1+1", Outside: true},
		{Step: newStep("browser_screenshot", `{}`), Before: []toolstest.Step{open}, Want: "is saved in /pictures/browser-20940310-", Outside: true},
		{Step: newStep("browser_close_tab", `{}`), Before: []toolstest.Step{open}, Want: "Closed the tab t1."},
		{Step: newStep("browser_list_tabs", `{"browser":"safari"}`), Want: "- 1.2: Inbox (https://mail.example/…), in front\n(and 9 more tabs)\n(Private windows not listed: 1)", Outside: true},
		{Step: newStep("browser_get_url", `{"browser":"Safari"}`), Want: "https://mail.example/?id=7\nInbox", Outside: true},
		{Step: newStep("browser_get_page_content", `{"browser":"arc","tab":"1.2"}`), Want: "Address: https://mail.example/…\nTab: 1.2 of Arc\n\nDear Ada", Outside: true},
		{Step: newStep("browser_execute_js", `{"browser":"edge","script":"1+1"}`), Want: "value of 1+1", Outside: true},
		{Step: newStep("browser_switch_tab", `{"browser":"chrome","tab":"1.2"}`), Want: "Now in front in Google Chrome: 1.2: Inbox", Outside: true},
		{Step: newStep("browser_open_tab", `{"browser":"brave","url":"boiler.example/a"}`), Want: "Opened in Brave Browser, tab 1.3: https://boiler.example/a"},
		{Step: newStep("browser_close_tab", `{"browser":"safari","tab":"1.2"}`), Want: "Closed the tab 1.2 of Safari."},
	}
}
