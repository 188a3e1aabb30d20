package dashboard

import (
	"errors"
	"net/url"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"hob/autonomy/api"
)

// renderRestart announces that Hob restarts. While it is shown, the page updates by itself. keys names the
// changed settings, if they are known.
func (d *Dashboard) renderRestart(r *request, keys ...string) g.Node {
	if !d.o.Backend.IsRestarting() {
		return nil
	}
	r.live, r.restarting = true, true
	what := "The change"
	if len(keys) > 0 {
		what = "The new value of " + strings.Join(keys, ", ")
	}
	return h.Section(h.Class("card"), h.ID("restarting"), h.Role("status"), h.H2(g.Text("Hob restarts")), h.P(plainText(what+" applies in a few seconds. This page reconnects by itself.")))
}

// renderFirstSettings shows the settings that new users look for: the quiet hours, the template, and where
// mail and skills are. A search hides them, unless it looks for them.
func (d *Dashboard) renderFirstSettings(r *request) (g.Node, error) {
	words := strings.ToLower(r.queryValue("q"))
	shows := func(topics string) bool {
		return words == "" || strings.Contains(topics, words) || strings.Contains(words, strings.Fields(topics)[0])
	}
	var out g.Group
	if shows("quiet hours night notifications do not disturb") {
		n, err := d.renderQuietHours(r)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	if shows("template personality character soul") {
		n, err := d.renderTemplates(r)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	if shows("mail email account calendar skill password imap smtp") {
		out = append(out, cardSection("Mail, calendars and skills", h.P(
			g.Text("On the page Channels: "), h.A(h.Href("/channels#mail"), g.Text("connect a mail account")), g.Text(" or "), h.A(h.Href("/channels#skills"), g.Text("add a skill")), g.Text("."),
		)))
	}
	return out, nil
}

// renderQuietHours shows the quiet hours with a form that changes them.
func (d *Dashboard) renderQuietHours(r *request) (g.Node, error) {
	q, err := d.o.Backend.QuietHours(r.Context())
	if err != nil {
		return nil, err
	}
	now, start, end := "Now: off.", "22:00", "07:00"
	switch {
	case q.Several:
		now = "Now: several windows. Edit them in the configuration file: hob config path."
	case q.Start != "":
		now, start, end = "Now: "+q.Start+" to "+q.End+".", q.Start, q.End
	}
	return h.Section(
		h.Class("card"), h.ID("quiet"), h.H2(g.Text("Quiet hours"), stateBadge(map[bool]string{true: badgeSoft, false: badgeGood}[q.Start == ""], map[bool]string{true: "off", false: "on"}[q.Start == "" && !q.Several])),
		h.P(h.Class("soft small"), plainText("Hob holds back notifications that are not critical, and sends them afterwards together. "+now)),
		g.Iff(!q.Several, func() g.Node {
			return h.Form(
				h.Class("row"), h.Method("post"), h.Action("/settings/quiet"),
				labeledField("From", h.Input(h.Type("time"), h.Name("start"), h.Value(start), h.Required())),
				labeledField("To", h.Input(h.Type("time"), h.Name("end"), h.Value(end), h.Required())),
				h.Button(h.Type("submit"), h.Class("primary"), g.Text("Save quiet hours")),
				g.If(q.Start != "", h.Button(h.Type("submit"), h.Name("off"), h.Value("true"), g.Text("Turn off"))),
			)
		}),
	), nil
}

// saveQuietHours changes the quiet hours, or ends them.
func (d *Dashboard) saveQuietHours(r *request) (string, error) {
	r.back = "/settings"
	f := r.PostForm
	if f.Get("off") != "" {
		return "Quiet hours are off.", d.o.Backend.SetQuietHours(r.Context(), "", "")
	}
	start, end := f.Get("start"), f.Get("end")
	if start == "" || end == "" {
		return "", errors.New("the time is missing; enter both times, for example 22:00 and 07:00")
	}
	return "Quiet hours: " + start + " to " + end + ".", d.o.Backend.SetQuietHours(r.Context(), start, end)
}

// renderTemplates lists the templates. The button of each leads to its preview.
func (d *Dashboard) renderTemplates(r *request) (g.Node, error) {
	list, err := d.o.Backend.Templates(r.Context())
	if err != nil {
		return nil, err
	}
	active := "none"
	for _, t := range list {
		if t.InUse {
			active = t.Name
		}
	}
	return h.Section(
		h.Class("card"), h.ID("templates"), h.H2(g.Text("Template")),
		h.P(h.Class("soft small"), plainText("A personality with goals and schedules. Now: "+active+".")),
		h.Ul(h.Class("list"), g.Map(list, renderTemplate)),
	), nil
}

func renderTemplate(t api.Template) g.Node {
	link := func(label, aria, name string) g.Node {
		return h.A(h.Class("button small"), h.Href("/settings/template?name="+url.QueryEscape(name)), h.Aria("label", aria), g.Text(label))
	}
	return h.Li(
		h.Data("name", t.Name),
		h.Span(h.Class("what"), h.Strong(plainText(t.Name)), h.Span(h.Class("soft"), plainText(" "+t.Description))),
		g.If(t.InUse, stateBadge(badgeGood, "in use")),
		h.Span(
			h.Class("acts small"),
			g.If(t.InUse, link("Stop using", "Stop using "+t.Name, "")),
			g.If(!t.InUse && t.Builtin, link("Use", "Use "+t.Name, t.Name)),
			g.If(!t.InUse && !t.Builtin, h.Code(plainText("hob template use "+t.Name))),
		),
	)
}

// showTemplate shows what applying a template changes, or what a reset changes if no name is given.
func (d *Dashboard) showTemplate(r *request) (g.Node, error) {
	name := r.queryValue("name")
	lines, err := d.o.Backend.PreviewTemplate(r.Context(), name)
	if err != nil {
		return nil, err
	}
	title, button := "Use "+name+"?", "Use "+name
	if name == "" {
		title, button = "Stop using the template?", "Stop using it"
	}
	return h.Div(h.Class("stack"), cardSection(
		title,
		h.P(h.Class("soft small"), g.Text("This is what changes. You can go back to the state before at any time.")),
		h.Ul(h.Class("list"), g.Map(lines, func(line string) g.Node { return h.Li(h.Span(h.Class("what"), plainText(capitalizeFirst(line)))) })),
		h.Form(
			h.Class("row"), h.Method("post"), h.Action("/settings/use-template"), hiddenField("name", name),
			g.Map(lines, func(line string) g.Node { return hiddenField("line", line) }),
			h.Button(h.Type("submit"), h.Class("primary"), plainText(button)),
			h.A(h.Class("button"), h.Href("/settings#templates"), g.Text("Cancel")),
		),
	)), nil
}

// useTemplate applies the template whose preview the page showed.
func (d *Dashboard) useTemplate(r *request) (string, error) {
	r.back = "/settings"
	name := r.PostForm.Get("name")
	if err := d.o.Backend.UseTemplate(r.Context(), name, r.PostForm["line"]); err != nil {
		return "", err
	}
	if name == "" {
		return "The template is no longer in use.", nil
	}
	return "The template " + name + " is in use.", nil
}
