package dashboard

import (
	"net/url"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"hob/platform/text/dateparse"
	"hob/platform/text/markup"
	"hob/platform/text/visible"
)

// plainText shows a text literally, without hidden characters and direction controls.
func plainText(s string) g.Node { return g.Text(visible.Text(s)) }

// richText shows Markdown. The renderer writes no scripts, pictures or HTML of the text.
func richText(md string) g.Node {
	return h.Div(h.Class("text rich"), h.Dir("auto"), g.Raw(markup.HTML(visible.Text(md))))
}

// relativeTime shows how long ago or in how long a time is, with the complete time as its title.
func (r *request) relativeTime(t time.Time) g.Node {
	if t.IsZero() {
		return nil
	}
	return h.Time(h.DateTime(t.UTC().Format(time.RFC3339)), h.Title(t.In(r.zone).Format("Monday, 2 January 2006, 15:04:05 MST")), g.Text(r.formatRelative(t)))
}

func (r *request) formatRelative(t time.Time) string { return dateparse.FormatRelative(t, r.now) }

// formatTime returns the time of day, with the day unless it is today.
func (r *request) formatTime(t time.Time) string { return dateparse.FormatShort(t, r.now) }

func startOfDay(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
}

// The kinds of badges.
const (
	badgeSoft   = ""
	badgeGood   = "good"
	badgeBad    = "bad"
	badgeWarn   = "warn"
	badgeAccent = "accent"
)

// stateBadge shows one word or two about a row's state.
func stateBadge(kind, text string) g.Node {
	return h.Span(h.Class("badge "+kind), plainText(text))
}

// emptyState says that a list has no rows, and what to do.
func emptyState(title, hint string) g.Node {
	return h.P(h.Class("empty"), h.Strong(g.Text(title)), plainText(hint))
}

// cardSection returns a framed section with a title.
func cardSection(title string, children ...g.Node) g.Node {
	return h.Section(h.Class("card"), g.If(title != "", h.H2(g.Text(title))), g.Group(children))
}

// fact is one line of a list of facts.
type fact struct{ name, value string }

// factList shows the facts that have a value.
func factList(facts ...fact) g.Node {
	var rows g.Group
	for _, f := range facts {
		if f.value != "" {
			rows = append(rows, h.Dt(g.Text(f.name)), h.Dd(plainText(f.value)))
		}
	}
	return h.Dl(h.Class("facts"), rows)
}

// labeledField returns a form control with its label.
func labeledField(label string, control g.Node) g.Node {
	return h.Label(h.Class("field"), g.Text(label), control)
}

// option is one choice of a select box.
type option struct{ value, label string }

// selectBox shows options with the selected one.
func selectBox(name, selected string, options ...option) g.Node {
	return h.Select(h.Name(name), g.Map(options, func(o option) g.Node {
		return h.Option(h.Value(o.value), g.If(o.value == selected, h.Selected()), plainText(o.label))
	}))
}

// postForm returns a form for an action of the page, such as "approvals/answer". After the action, the
// content of the page is replaced.
func (r *request) postForm(action string, children ...g.Node) g.Node {
	target := "#content"
	if r.page.class == "chat" {
		target = "#approvals"
	}
	return h.Form(
		h.Method("post"), h.Action("/"+action), g.Attr("hx-post", "/"+action), g.Attr("hx-target", target), g.Attr("hx-select", target),
		g.Attr("hx-swap", "outerMorph"), g.Attr("hx-select-oob", sideParts+",#flash:outerMorph"), r.nonceAttr(), hiddenField("back", r.pageAddress()), g.Group(children),
	)
}

func hiddenField(name, value string) g.Node {
	return h.Input(h.Type("hidden"), h.Name(name), h.Value(value))
}

// actionButton returns a form that consists of one button. fields are pairs of a name and a value.
func (r *request) actionButton(action, label string, button g.Node, fields ...fact) g.Node {
	return r.postForm(action, h.Class("inline"), hiddenFields(fields), h.Button(h.Type("submit"), button, g.Text(label)))
}

func hiddenFields(fields []fact) g.Node {
	return g.Map(fields, func(f fact) g.Node { return hiddenField(f.name, f.value) })
}

// confirmButton returns a button that asks before it runs an action. id must be unique on the page.
func (r *request) confirmButton(id, action, label, question string, fields ...fact) g.Node {
	return g.Group{
		h.Button(h.Type("button"), h.Class("danger"), h.PopoverTarget(id), g.Text(label)),
		h.Div(
			h.ID(id), h.Popover("auto"), h.Role("dialog"), h.Aria("label", label),
			h.P(plainText(question)),
			r.postForm(action, h.Class("row"), hiddenFields(fields),
				h.Button(h.Type("submit"), h.Class("primary"), g.Text(label)),
				h.Button(h.Type("button"), h.PopoverTarget(id), h.PopoverTargetAction("hide"), g.Text("Cancel"))),
		),
	}
}

// pagerLinks links to the older rows if there are more, and back to the newest ones. before is the id of
// the last shown row.
func (r *request) pagerLinks(more bool, before string) g.Node {
	newer := r.queryValue("before") != ""
	if !more && !newer {
		return nil
	}
	return h.Nav(
		h.Class("pager"), h.Aria("label", "Older and newer rows"),
		g.If(newer, h.A(h.Class("button"), h.Href(r.withQuery("before", "")), g.Text("Newest"))),
		g.If(more, h.A(h.Class("button"), h.Href(r.withQuery("before", before)), g.Text("Older"))),
	)
}

// withQuery returns the address of the page with one parameter changed; "" removes it. A changed
// filter leads to the newest rows.
func (r *request) withQuery(name, value string) string {
	q := r.URL.Query()
	q.Del("flash")
	q.Del("before")
	q.Del(name)
	if value != "" {
		q.Set(name, value)
	}
	return (&url.URL{Path: r.URL.Path, RawQuery: q.Encode()}).String()
}

// tab is one link of a row of links that select what a page shows.
type tab struct{ label, href string }

// tabLinks shows links and marks the current one.
func tabLinks(label, current string, list ...tab) g.Node {
	return h.Nav(h.Aria("label", label), h.Ul(h.Class("tabs"), g.Map(list, func(t tab) g.Node {
		return h.Li(h.A(h.Href(t.href), g.If(t.href == current, h.Aria("current", "true")), plainText(t.label)))
	})))
}

// dataTable shows rows of cells below their headings. A wide table scrolls by itself.
func dataTable(caption string, headings []string, rows [][]g.Node) g.Node {
	return h.Div(h.Class("scroll"), h.Role("region"), h.Aria("label", caption), h.TabIndex("0"), h.Table(
		h.Caption(h.Class("sr"), g.Text(caption)),
		h.THead(h.Tr(g.Map(headings, func(s string) g.Node { return h.Th(h.Scope("col"), g.Text(s)) }))),
		h.TBody(g.Map(rows, func(cells []g.Node) g.Node {
			return h.Tr(g.Map(cells, func(c g.Node) g.Node { return h.Td(c) }))
		})),
	))
}
