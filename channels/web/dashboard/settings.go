package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"hob/autonomy/api"
	"hob/autonomy/config"
	"hob/platform/text/textnorm"
	"hob/templates"
)

// settingsPage shows every key of the configuration, checks new values, saves those that cannot loosen
// safety, and undoes the last change. For all other keys it shows the command (docs/incidents.md, I3).
func (d *Dashboard) settingsPage() page {
	return page{
		path: "/settings", title: "Settings", about: "Quiet hours, the template and every other setting. Hob restarts to apply a change.",
		icon: "M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4", show: d.showSettings,
		views:   map[string]func(*request) (g.Node, error){"change": d.showChange, "template": d.showTemplate},
		actions: map[string]action{"check": d.checkSetting},
		saves: map[string]action{
			"save": d.saveSetting, "apply": d.applySettings, "quiet": d.saveQuietHours, "use-template": d.useTemplate,
		},
		commands: []command{
			{"Change the model", settingLink("agent.model")}, {"Set quiet hours", "/settings#quiet"}, {"Use another template", "/settings#templates"}, {"See all settings", "/settings?q=&section="},
		},
	}
}

// settingLink returns the address at which a new value of a key is checked.
func settingLink(key string) string { return "/settings/change?key=" + url.QueryEscape(key) }

// sectionOf returns the first part of a key.
func sectionOf(key string) string {
	name, _, _ := strings.Cut(key, ".")
	return name
}

// showSettings lists the keys of a section, or those that match a search. There are fewer than 300 keys,
// so the list has no pages.
func (d *Dashboard) showSettings(r *request) (g.Node, error) {
	all, err := d.o.Backend.Settings(r.Context())
	if err != nil {
		return nil, err
	}
	last, err := d.renderLastChange(r)
	if err != nil {
		return nil, err
	}
	first, err := d.renderFirstSettings(r)
	if err != nil {
		return nil, err
	}
	var sections []option
	for _, s := range all {
		if name := sectionOf(s.Key); !slices.ContainsFunc(sections, func(o option) bool { return o.value == name }) {
			sections = append(sections, option{name, name})
		}
	}
	words, section := textnorm.FoldedWords(r.queryValue("q")), r.queryValue("section")
	if section == "" && !r.URL.Query().Has("q") {
		section = "agent"
	}
	found := findSettings(all, section, words)
	if len(found) == 0 && len(words) > 0 { // the page opens with a section, which the search then contains
		section = ""
		found = findSettings(all, section, words)
	}
	return h.Div(
		h.Class("stack"),
		d.renderPending(r, all),
		last,
		first,
		h.Form(
			h.ID("find"), h.Class("filters"), h.Method("get"), h.Action("/settings#find"),
			labeledField("Find", h.Input(h.Type("search"), h.Name("q"), h.Value(r.queryValue("q")), h.MaxLength("100"))),
			labeledField("Section", selectBox("section", section, append([]option{{"", "All sections"}}, sections...)...)),
			h.Button(h.Type("submit"), g.Text("Show")),
		),
		h.Section(
			h.Class("card"), h.H2(plainText(capitalizeFirst(cmp.Or(section, "Settings"))), h.Span(h.Class("soft small"), g.Text(countOf(len(found), "key", "keys")))),
			g.If(len(found) == 0, emptyState("No match", "Try other words, or all sections.")),
			h.Ul(h.Class("list"), g.Map(found, renderSetting)),
		),
		g.If(len(words) == 0, cardSection("In a terminal", h.Dl(h.Class("facts"), g.Map(terminalCommands(), func(c terminalCommand) g.Node {
			return g.Group{h.Dt(g.Text(c.title)), h.Dd(h.Code(g.Text(c.command)))}
		})))),
	), nil
}

// terminalCommand is a command for settings that the page does not change.
type terminalCommand struct{ prefix, title, command string }

// terminalCommands lists what new users look for on the page Settings. A prefix is the beginning of keys.
func terminalCommands() []terminalCommand {
	return []terminalCommand{
		{"providers.", "Models", "hob setup brain"},
		{"channels.", "Channels", "hob channel add NAME"},
		{"agents.", "Agents", "hob agent new NAME"},
		{"mcp.servers.", "MCP servers", "hob mcp add NAME"},
		{"secrets.", "Passwords and keys", "hob secret set NAME"},
	}
}

// commandFor returns the command that changes a key whose section may occur several times.
func commandFor(key string) string {
	for _, c := range terminalCommands() {
		if strings.HasPrefix(key, c.prefix) {
			return c.command
		}
	}
	return "hob config path"
}

// formFor returns the address of the form that changes a key whose section may occur several times, or
// "" if there is none.
func formFor(key string) string {
	switch sectionOf(key) {
	case "accounts":
		return "/channels#mail"
	case "notify":
		if strings.HasPrefix(key, "notify.quiet_hours.") {
			return "/settings#quiet"
		}
	}
	return ""
}

// changeLink returns the address at which a key is changed, or "" if the page cannot change it.
func changeLink(s api.Setting) string {
	if s.Many {
		return formFor(s.Key)
	}
	return settingLink(s.Key)
}

// renderSetting shows one key with its value and its help.
func renderSetting(s api.Setting) g.Node {
	return h.Li(
		h.Data("name", s.Key),
		h.Span(h.Class("what key"), h.Code(plainText(s.Key))),
		g.If(s.Set, stateBadge(badgeAccent, "changed")),
		g.If(s.Pending != "", stateBadge(badgeSoft, "not applied yet")),
		g.If(!s.Many, h.Span(h.Class("value num"), plainText(describeValue(s)))),
		g.If(s.Many && formFor(s.Key) == "", h.Span(h.Class("soft small"), h.Code(g.Text(commandFor(s.Key))))),
		g.If(!s.Secret && changeLink(s) != "", h.Span(h.Class("acts small"), h.A(h.Class("button small"), h.Href(changeLink(s)), h.Aria("label", "Change "+s.Key), g.Text("Change")))),
		h.P(h.Class("full small"), plainText(s.About)),
		h.P(h.Class("meta"), plainText("Accepts "+s.Accepts+". Default: "+s.Default)),
	)
}

// findSettings returns the keys of a section that contain all words. No section means all.
func findSettings(all []api.Setting, section string, words []string) []api.Setting {
	return slices.DeleteFunc(slices.Clone(all), func(s api.Setting) bool {
		text := strings.Join(textnorm.FoldedWords(s.Key+" "+s.About), " ")
		return section != "" && sectionOf(s.Key) != section || slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
	})
}

// describeValue returns the value of a key for a list. Secrets are not shown.
func describeValue(s api.Setting) string {
	switch {
	case s.Secret && s.Set:
		return "(hidden)"
	case s.Secret:
		return "not set"
	case s.Value == "":
		return "(empty)"
	}
	return shortNotice(s.Value)
}

// renderLastChange shows the last change of the configuration that can be undone.
func (d *Dashboard) renderLastChange(r *request) (g.Node, error) {
	list, err := d.o.Backend.Undoable(r.Context(), api.Query{Limit: maxUndoable})
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(list, func(e api.LedgerEntry) bool { return e.Tool == config.ChangeTool || e.Tool == templates.ChangeTool })
	if at < 0 {
		return nil, nil
	}
	e := list[at]
	return cardSection("Last change", h.Ul(h.Class("list"), h.Li(
		h.ID("last-change"),
		h.Span(h.Class("what"), plainText(cmp.Or(e.Result, e.UndoLabel))),
		h.Span(h.Class("soft small"), r.relativeTime(e.StartedAt)),
		h.Span(h.Class("acts small"), r.actionButton("timeline/undo", "Undo", h.Aria("label", "Undo the last change"), fact{"call", e.Call})),
	))), nil
}

// maxUndoable is the number of calls among which the last change of the configuration is searched.
const maxUndoable = 500

// showChange checks a new value of a key, and shows the difference and the command that saves it.
func (d *Dashboard) showChange(r *request) (g.Node, error) {
	all, err := d.o.Backend.Settings(r.Context())
	if err != nil {
		return nil, err
	}
	key := r.queryValue("key")
	at := slices.IndexFunc(all, func(s api.Setting) bool { return s.Key == key })
	if at < 0 {
		return nil, fmt.Errorf("%w: there is no key %q; choose one on the page Settings", api.ErrNotFound, key)
	}
	s := all[at]
	value := s.Value
	kept := d.flashes.readInput(r.queryValue("input")) // not from the address: a link from elsewhere must not fill in a value
	checked := kept.Get("key") == key
	if checked {
		value = kept.Get("value")
	}
	var result g.Node
	if checked {
		if result, err = d.renderDifference(r, s, value); err != nil {
			return nil, err
		}
	}
	back := "/settings?section=" + url.QueryEscape(sectionOf(key))
	return h.Div(
		h.Class("stack"),
		h.P(h.A(h.Href(back), plainText("Back to "+sectionOf(key)))),
		cardSection(
			key,
			h.P(plainText(s.About)),
			h.P(h.Class("soft small"), plainText("Accepts "+s.Accepts+". Default: "+s.Default+". Now: "+describeValue(s))),
			g.If(s.Secret, h.P(g.Text("This is a secret. Store it in a terminal: "), h.Code(g.Text("hob secret set")))),
			g.If(s.Many, h.P(g.Text("Its section may occur several times. Change it in a terminal: "), h.Code(g.Text(commandFor(key))))),
			g.Iff(!s.Secret && !s.Many, func() g.Node {
				return h.Form(
					h.Class("row change"), h.Method("post"), h.Action("/settings/check"), hiddenField("key", key),
					labeledField("New value", valueControl(s, value)),
					h.Button(h.Type("submit"), h.Class("primary"), g.Text("Check value")),
				)
			}),
		),
		result,
	), nil
}

// checkSetting leads to the page with the difference that a value makes.
func (d *Dashboard) checkSetting(r *request) (string, error) {
	r.keep = url.Values{"key": {r.PostForm.Get("key")}, "value": {r.PostForm.Get("value")}}
	r.back = settingLink(r.PostForm.Get("key"))
	return "", nil
}

// renderPending names the saved values that do not apply yet. While it is shown, the page updates by
// itself.
func (d *Dashboard) renderPending(r *request, settings []api.Setting) g.Node {
	var soon, later []string
	for _, s := range settings {
		switch s.Pending {
		case api.PendingRestart:
			soon = append(soon, s.Key)
		case api.PendingStart:
			later = append(later, s.Key)
		}
	}
	r.live = r.live || len(later) > 0
	return g.Group{
		d.renderRestart(r, soon...),
		g.Iff(len(later) > 0, func() g.Node {
			return h.Section(
				h.Class("card"), h.ID("unapplied"), h.H2(g.Text("Not applied yet")),
				h.P(plainText("Hob still runs with the former value of "+strings.Join(later, ", ")+".")),
				h.Form(h.Class("row"), h.Method("post"), h.Action("/settings/apply"), hiddenField("back", r.pageAddress()), h.Button(h.Type("submit"), g.Text("Restart now"))),
			)
		}),
	}
}

// applySettings restarts Hob with the values in the file.
func (d *Dashboard) applySettings(r *request) (string, error) {
	return "", d.o.Backend.ApplySettings(r.Context())
}

// valueControl returns the form control for a value.
func valueControl(s api.Setting, value string) g.Node {
	if s.Accepts == "true or false" {
		return selectBox("value", value, option{"true", "true"}, option{"false", "false"})
	}
	return h.Input(h.Name("value"), h.Value(value), h.MaxLength("2000"), h.AutoComplete("off"), g.Attr("spellcheck", "false"))
}

// renderDifference shows what a value would change, or why it is refused.
func (d *Dashboard) renderDifference(r *request, s api.Setting, value string) (g.Node, error) {
	ch, err := d.o.Backend.PreviewSetting(r.Context(), s.Key, value)
	if errors.Is(err, api.ErrInvalid) {
		return h.Section(h.Class("card"), h.Role("alert"), h.H2(g.Text("Not accepted")), h.P(h.Class("failed"), plainText(capitalizeProse(strings.TrimPrefix(err.Error(), api.ErrInvalid.Error()+": "))))), nil
	}
	if err != nil {
		return nil, err
	}
	old := ch.Old
	if old == "" {
		old = s.Default + " (the default)"
	}
	if ch.Old == ch.New {
		return cardSection("No difference", h.P(plainText("The file already contains this value."))), nil
	}
	return cardSection(
		"Difference",
		h.Div(
			h.Class("diff"),
			h.P(h.Class("out"), h.Span(h.Class("sr"), g.Text("Before: ")), plainText(s.Key+" = "+old)),
			h.P(h.Class("in"), h.Span(h.Class("sr"), g.Text("After: ")), plainText(s.Key+" = "+ch.New)),
		),
		g.If(ch.Warning != "", h.P(h.Class("failed"), plainText(asSentence(ch.Warning)))),
		g.Iff(s.OnPage, func() g.Node {
			// The address must change with the content: the page of a saved value would show no difference.
			return h.Form(
				h.Class("row"), h.Method("post"), h.Action("/settings/save"), hiddenField("key", s.Key), hiddenField("old", ch.Old), hiddenField("value", value),
				hiddenField("back", "/settings?section="+url.QueryEscape(sectionOf(s.Key))),
				h.Button(h.Type("submit"), h.Class("primary"), g.Text("Save")), h.Span(h.Class("soft small"), g.Text("Hob restarts to apply it.")),
			)
		}),
		g.Iff(!s.OnPage, func() g.Node {
			return g.Group{
				h.P(g.Text("To save it, run this command in a terminal. The value applies at the next start of Hob.")),
				h.Pre(h.Class("wrap"), h.TabIndex("0"), plainText("hob config set "+s.Key+" "+quoteShell(value))),
			}
		}),
	), nil
}

// saveSetting saves a value that the page has checked. old is the value before, which the user saw.
func (d *Dashboard) saveSetting(r *request) (string, error) {
	f := r.PostForm
	return d.saveValue(r, f.Get("key"), f.Get("old"), f.Get("value"))
}

// saveValue changes one key of the configuration.
func (d *Dashboard) saveValue(r *request, key, old, value string) (string, error) {
	ch, err := d.o.Backend.SaveSetting(r.Context(), key, old, value)
	if err != nil {
		return "", err
	}
	return "Saved " + ch.Key + " = " + ch.New + ".", nil
}

// quoteShell quotes a value for a POSIX shell, unless no shell changes it.
func quoteShell(s string) string {
	plain := func(c rune) bool {
		return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.ContainsRune("._-/:@,+", c)
	}
	if s != "" && !strings.HasPrefix(s, "-") && strings.IndexFunc(s, func(c rune) bool { return !plain(c) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
