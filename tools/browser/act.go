package browser

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hob/platform/host/browser"
	"hob/platform/provenance"
	"hob/tools"
)

// judgeFor is the time limit for a page to describe the pending action.
const judgeFor = 10 * time.Second

type clickIn struct {
	Element string `json:"element" jsonschema:"its handle, such as e7, from browser_get_page_content"`
	Tab     string `json:"tab,omitempty" jsonschema:"such as t2; the element's by default"`
}

func clickTool(d Deps) tools.Tool {
	return tools.New(tools.Def[clickIn]{
		Spec: newSpec("browser_click", tools.Send|tools.Egress, openFor, "Click a link, button or box on a page in Hob's browser. Following a plain link opens its address; other clicks ask the user.",
			"browser press button link website page tap select checkbox submit buy chrome safari"),
		Summary: func(in clickIn) string { return "Click " + d.describeElementByHandle(in.Element) },
		Judge: func(ctx context.Context, in clickIn) tools.CallAssessment {
			ctx, cancel := context.WithTimeout(ctx, judgeFor)
			defer cancel()
			e, err := d.Browser.Describe(ctx, in.Tab, in.Element)
			if err != nil {
				return tools.CallAssessment{Refused: classifyError(err, in.Element)}
			}
			if e.Element.Plain {
				return d.assessNavigation(e.Element.Href, encodeBinding(e))
			}
			why := fmt.Sprintf("clicks %s on %s", describeElement(e.Element), addressHost(e.URL))
			if e.Form != nil {
				why += ", which submits a form to " + addressHost(e.Form.Action)
			}
			return tools.CallAssessment{Effects: tools.Send, Why: why, Exact: encodeBinding(e)}
		},
		Run: func(ctx context.Context, c tools.Call, in clickIn) (tools.Result, error) {
			e, err := d.Browser.Describe(ctx, in.Tab, in.Element)
			if err != nil {
				return tools.Result{}, classifyError(err, in.Element)
			}
			if encodeBinding(e) != c.Exact {
				return tools.Result{}, pageChangedError()
			}
			if e.Element.Plain {
				u, err := d.Network.Check(e.Element.Href)
				if err != nil {
					return tools.Result{}, classifyError(err, "")
				}
				t, err := d.Browser.Navigate(ctx, e.Tab, u.String())
				if err != nil {
					return tools.Result{}, classifyError(err, "")
				}
				return d.openedResult("browser_click", t), nil
			}
			r, err := d.Browser.Click(ctx, e.Tab, in.Element, requireUnchanged(c.Exact))
			if err != nil {
				return tools.Result{}, classifyError(err, in.Element)
			}
			return d.actionResult("browser_click", "Clicked "+describeElement(e.Element)+".", r), nil
		},
	})
}

// requireUnchanged returns a check that rejects an element that differs from the approved one.
func requireUnchanged(exact string) browser.Check {
	return func(list []browser.Described) error {
		if len(list) != 1 || encodeBinding(list[0]) != exact {
			return pageChangedError()
		}
		return nil
	}
}

func pageChangedError() error {
	return tools.Errorf(tools.Conflict, "the page has changed, so nothing was done; read the page again")
}

// describeElementByHandle describes an element for an approval request, as it was when its page was
// last read. The guard also shows the approved binding.
func (d Deps) describeElementByHandle(handle string) string {
	e, tab, page, ok := d.Browser.ElementOf(handle)
	if !ok {
		return fmt.Sprintf("the element %.20q", handle)
	}
	return fmt.Sprintf("%s on %s (tab %s)", describeElement(e), addressHost(page), tab)
}

// describeElement returns a label for an element.
func describeElement(e browser.Element) string {
	if e.Name == "" {
		return "the " + e.Kind + " " + e.Handle
	}
	return fmt.Sprintf("the %s %q", e.Kind, e.Name)
}

// actionResult returns the result of an action on a page.
func (d Deps) actionResult(tool, said string, r browser.Done) tools.Result {
	var b strings.Builder
	b.WriteString(said)
	links := []string{r.Tab.URL}
	if r.Went {
		b.WriteString(" A different page is open now.")
	}
	fmt.Fprintf(&b, "\nTab %s: %s\nAddress: %s", r.Tab.ID, r.Tab.Title, r.Tab.URL)
	for _, t := range r.Opened {
		fmt.Fprintf(&b, "\nOpened in the new tab %s: %s", t.ID, tabLine(t))
		links = append(links, t.URL)
	}
	b.WriteString(d.sideEventsText(r.Tab.ID))
	return tools.Result{Text: b.String(), Data: r, Source: provenance.Outside, Origins: webOrigins(tool, r.Tab.URL), Links: d.canonicalAddresses(links...)}
}

type fieldIn struct {
	Element string `json:"element" jsonschema:"its handle, such as e7"`
	Value   string `json:"value" jsonschema:"the text; the label of a choice; on or off for a checkbox"`
}

type fillIn struct {
	Fields []fieldIn `json:"fields"`
	Submit bool      `json:"submit,omitempty" jsonschema:"submit the form afterwards"`
	Tab    string    `json:"tab,omitempty" jsonschema:"such as t2; the elements' by default"`
}

// maxFields is the maximum number of fields that one call may fill in.
const maxFields = 40

func fillFormTool(d Deps) tools.Tool {
	return tools.New(tools.Def[fillIn]{
		Spec: newSpec("browser_fill_form", tools.Send, openFor, "Fill in fields of a form on a page in Hob's browser, and submit it if requested. Only the user can fill in passwords.",
			"browser form field input enter type text website page select choice submit log in sign up chrome safari"),
		Summary: func(in fillIn) string {
			var b strings.Builder
			b.WriteString("Fill in a form")
			for i, f := range in.Fields {
				fmt.Fprintf(&b, "%s %s: %.80q", map[bool]string{true: ":", false: ";"}[i == 0], d.describeElementByHandle(f.Element), f.Value)
			}
			if in.Submit {
				b.WriteString(" and submit it")
			}
			return b.String()
		},
		Judge: func(ctx context.Context, in fillIn) tools.CallAssessment {
			ctx, cancel := context.WithTimeout(ctx, judgeFor)
			defer cancel()
			list, err := d.findFormFields(ctx, in)
			if err != nil {
				return tools.CallAssessment{Refused: err}
			}
			why := "types into a form on " + addressHost(list[0].URL)
			if in.Submit {
				why = "submits a form on " + addressHost(list[0].URL)
				if f := list[0].Form; f != nil && addressHost(f.Action) != addressHost(list[0].URL) {
					why += " to " + addressHost(f.Action)
				}
			}
			return tools.CallAssessment{Effects: tools.Send, Why: why, Exact: encodeBinding(list)}
		},
		Run: func(ctx context.Context, c tools.Call, in fillIn) (tools.Result, error) {
			list, err := d.findFormFields(ctx, in)
			if err != nil {
				return tools.Result{}, err
			}
			if encodeBinding(list) != c.Exact {
				return tools.Result{}, pageChangedError()
			}
			var fields []browser.Field
			for _, f := range in.Fields {
				fields = append(fields, browser.Field{Handle: f.Element, Value: f.Value})
			}
			r, err := d.Browser.Fill(ctx, list[0].Tab, fields, in.Submit, func(now []browser.Described) error {
				if encodeBinding(now) != c.Exact {
					return pageChangedError()
				}
				return nil
			})
			if err != nil {
				return tools.Result{}, classifyError(err, "")
			}
			said := "Filled in the form; it was not submitted."
			if in.Submit {
				said = "Filled in and submitted the form."
			}
			return d.actionResult("browser_fill_form", said, r), nil
		},
	})
}

// findFormFields finds the named fields. They must be on one page, and none of them may contain a
// secret.
func (d Deps) findFormFields(ctx context.Context, in fillIn) ([]browser.Described, error) {
	if len(in.Fields) == 0 || len(in.Fields) > maxFields {
		return nil, tools.Errorf(tools.InvalidArguments, "browser_fill_form takes 1 to %d fields", maxFields)
	}
	var out []browser.Described
	for _, f := range in.Fields {
		e, err := d.Browser.Describe(ctx, in.Tab, f.Element)
		switch {
		case err != nil:
			return nil, classifyError(err, f.Element)
		case e.Element.Secret:
			return nil, &tools.Error{
				Source: provenance.Tool,
				Code:   tools.PolicyDenied, Message: "fields for passwords, codes and cards must be filled in by the user", Remedy: "ask the user to complete these fields in the browser window, then continue",
			}
		case len(out) > 0 && out[0].Tab != e.Tab:
			return nil, tools.Errorf(tools.InvalidArguments, "the fields are in different tabs")
		}
		out = append(out, e)
	}
	return out, nil
}

type scriptIn struct {
	Script string `json:"script" jsonschema:"JavaScript; the value of its last expression is returned"`
	Tab    string `json:"tab,omitempty" jsonschema:"such as t2; needed when several are open"`

	Browser string `json:"browser,omitempty" jsonschema:"hob (default), or the user's own on macOS: safari, chrome, edge, brave, arc"`
}

// scriptBinding is the approval binding of a script.
type scriptBinding struct {
	Tab string `json:"tab"`
	URL string `json:"url"`
}

func executeScriptTool(d Deps) tools.Tool {
	return tools.New(tools.Def[scriptIn]{
		Spec: newSpec("browser_execute_js", tools.Exec, openFor, "Run JavaScript in a page in Hob's browser, or on macOS in the user's own, and return its value. It asks the user each time; prefer reading and clicking.",
			"browser javascript script js code console page evaluate chrome safari"),
		Summary: func(in scriptIn) string {
			return fmt.Sprintf("Run a script in %s: %.500s", ofTabIn{in.Tab, in.Browser}.describeTab(d), in.Script)
		},
		Judge: func(ctx context.Context, in scriptIn) tools.CallAssessment {
			if _, mine, _ := d.findUserBrowser(in.Browser); !mine {
				return d.inOwn(ctx, in.Browser, in.Tab, acting, "runs a script, which can do everything you can do, on")
			}
			id, err := d.resolveTabID(ctx, in.Tab)
			if err != nil {
				return tools.CallAssessment{Refused: err}
			}
			t, err := d.Browser.Get(id)
			if err != nil {
				return tools.CallAssessment{Refused: classifyError(err, in.Tab)}
			}
			return tools.CallAssessment{
				Effects: tools.Exec, Exact: encodeBinding(scriptBinding{t.ID, stripFragment(t.URL)}),
				Why: "runs a script on " + addressHost(t.URL) + ", where it can do everything you can do",
			}
		},
		Run: func(ctx context.Context, c tools.Call, in scriptIn) (tools.Result, error) {
			if _, mine, _ := d.findUserBrowser(in.Browser); !mine {
				return d.runOwn(ctx, c, in)
			}
			t, err := d.Browser.Get(in.Tab)
			if err != nil {
				return tools.Result{}, classifyError(err, in.Tab)
			}
			text, err := d.Browser.Execute(ctx, t.ID, in.Script, func(now []browser.Described) error {
				if encodeBinding(scriptBinding{now[0].Tab, stripFragment(now[0].URL)}) != c.Exact {
					return pageChangedError()
				}
				return nil
			})
			if err != nil {
				return tools.Result{}, classifyError(err, "")
			}
			return tools.Result{
				Text: text + d.sideEventsText(t.ID), Data: scriptValue{text}, Source: provenance.Outside, Origins: webOrigins("browser_execute_js", t.URL),
			}, nil
		},
	})
}

// scriptValue is the Data of a browser_execute_js result.
type scriptValue struct {
	Value string `json:"value"`
}

// stripFragment returns an address without its fragment, because a page can change the fragment at
// any time.
func stripFragment(address string) string {
	address, _, _ = strings.Cut(address, "#")
	return address
}

func screenshotTool(d Deps) tools.Tool {
	return tools.New(tools.Def[tabIn]{
		Spec: newSpec("browser_screenshot", tools.Read, openFor, "Take a picture of the page in a tab of Hob's browser, and describe it if a model can see pictures.",
			"browser screenshot picture capture page website image look chrome safari"),
		Summary: func(in tabIn) string { return "Take a screenshot of " + d.describeTabByID(in.Tab) },
		Run: func(ctx context.Context, c tools.Call, in tabIn) (tools.Result, error) {
			id, err := d.resolveTabID(ctx, in.Tab)
			if err != nil {
				return tools.Result{}, err
			}
			data, t, err := d.Browser.Screenshot(ctx, id)
			if err != nil {
				return tools.Result{}, classifyError(err, in.Tab)
			}
			ext := ".png"
			if len(data) > 2 && data[0] == 0xff && data[1] == 0xd8 {
				ext = ".jpg"
			}
			path, err := d.Keep("browser-"+c.Now.Format("20060102-150405")+"-"+idSuffix(c.ID)+ext, data)
			if err != nil {
				return tools.Result{}, fmt.Errorf("save the screenshot: %w", err)
			}
			said := ""
			if d.See != nil {
				said, err = d.See(ctx, data)
			}
			text := fmt.Sprintf("The screenshot of tab %s (%s) is saved in %s", t.ID, t.URL, path)
			if err != nil {
				said, text = "", text+"\nNo model could describe it: "+err.Error()
			}
			if said != "" {
				text += "\nDescription: " + said
			}
			return tools.Result{
				Text: text + d.sideEventsText(t.ID), Data: screenshotData{t.ID, t.URL, path, said}, Source: provenance.Outside, Origins: webOrigins("browser_screenshot", t.URL),
			}, nil
		},
	})
}

// screenshotData is the Data of a browser_screenshot result.
type screenshotData struct {
	Tab   string `json:"tab"`
	URL   string `json:"url"`
	Path  string `json:"path"`
	Shows string `json:"shows,omitempty"`
}

// idSuffix returns the end of an id, for use in a file name.
func idSuffix(id string) string {
	id = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, id)
	return id[max(0, len(id)-8):]
}
