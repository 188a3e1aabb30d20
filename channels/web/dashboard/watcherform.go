package dashboard

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"hob/autonomy/api"
)

// scheduleKind is the choice of a schedule among the kinds of watchers.
const scheduleKind = "schedule"

// renderWatcherForms shows the kinds of watchers, and the form of the selected one.
func (d *Dashboard) renderWatcherForms(r *request, kinds []api.WatcherKind) g.Node {
	selected := r.queryValue("kind")
	kept := d.flashes.readInput(r.queryValue("input"))
	if kept.Get("kind") != selected {
		kept = nil
	}
	var tabs []tab
	for _, k := range append(kinds, api.WatcherKind{Kind: scheduleKind, Title: "Schedule"}) {
		tabs = append(tabs, tab{k.Title, "/watchers?kind=" + url.QueryEscape(k.Kind) + "#add"})
	}
	var form g.Node
	if at := slices.IndexFunc(kinds, func(k api.WatcherKind) bool { return k.Kind == selected }); at >= 0 {
		form = renderWatcherForm(kept, kinds[at])
	} else if selected == scheduleKind {
		form = renderScheduleForm(kept)
	}
	return h.Section(
		h.Class("card"), h.ID("add"), h.Aria("labelledby", "add-title"),
		h.H2(h.ID("add-title"), g.Text("Add a watcher")),
		h.P(h.Class("soft small"), g.Text("What should Hob watch?")),
		tabLinks("Kinds of watchers", "/watchers?kind="+url.QueryEscape(selected)+"#add", tabs...),
		form,
	)
}

// keptInput returns a text field. After an error, it contains what the user entered.
func keptInput(kept url.Values, name, help string, required bool) g.Node {
	return h.Input(h.Name(name), h.Value(kept.Get(name)), h.Placeholder(help), h.MaxLength("2000"), h.AutoComplete("off"), g.If(required, h.Required()))
}

func renderWatcherForm(kept url.Values, k api.WatcherKind) g.Node {
	var fields g.Group
	for _, f := range k.Fields {
		name := "config-" + f.Key
		if f.YesNo {
			fields = append(fields, h.Label(h.Input(h.Type("checkbox"), h.Name(name), h.Value("true"), g.If(kept.Get(name) != "", h.Checked())), g.Text(" "+f.Title)))
			continue
		}
		fields = append(fields, labeledField(fieldLabel(f), keptInput(kept, name, f.Help, !f.Optional)))
	}
	return h.Form(
		h.Class("stack"), h.Method("post"), h.Action("/watchers/add"), hiddenField("kind", k.Kind), hiddenField("back", "/watchers"),
		fields,
		labeledField("What to do (empty: notify you)", keptInput(kept, "action", "summarize it", false)),
		h.Details(
			h.Summary(g.Text("Hours and rate")),
			h.Div(
				h.Class("stack"),
				g.If(k.Polled, labeledField("Check interval", keptInput(kept, "every", "30m, 6h", false))),
				labeledField("Active hours", keptInput(kept, "active_hours", "mon-fri 08:00-18:00", false)),
				labeledField("Most notifications a day", h.Input(h.Type("number"), h.Name("per_day"), h.Value(kept.Get("per_day")), h.Min("1"), h.Max("10000"))),
			),
		),
		h.Div(h.Class("row"), h.Button(h.Type("submit"), h.Class("primary"), g.Text("Add watcher"))),
	)
}

// fieldLabel returns the label of a field. Lists mention their separator.
func fieldLabel(f api.WatcherField) string {
	label := f.Title
	if f.List {
		label += ", separated by commas"
	}
	if f.Optional {
		label += " (optional)"
	}
	return label
}

func renderScheduleForm(kept url.Values) g.Node {
	return h.Form(
		h.Class("stack"), h.Method("post"), h.Action("/watchers/schedule"), hiddenField("kind", scheduleKind), hiddenField("back", "/watchers"),
		labeledField("When", keptInput(kept, "when", "weekday at 8:00", true)),
		labeledField("How often", selectBox("often", kept.Get("often"), option{"every", "Every time"}, option{"at", "Once"})),
		labeledField("What to do", keptInput(kept, "action", "tell me the weather", true)),
		h.Div(h.Class("row"), h.Button(h.Type("submit"), h.Class("primary"), g.Text("Add schedule"))),
	)
}

// keepInput makes an action with an error lead back to its form with the user's input.
func keepInput(r *request, notice string, err error) (string, error) {
	if err != nil {
		r.keep = r.PostForm
		r.back = "/watchers?kind=" + url.QueryEscape(r.PostForm.Get("kind")) + "#add"
	}
	return notice, err
}

// addWatcher creates a watcher from the form of its kind.
func (d *Dashboard) addWatcher(r *request) (string, error) {
	kinds, err := d.o.Backend.WatcherKinds(r.Context())
	if err != nil {
		return "", err
	}
	kind := r.PostForm.Get("kind")
	at := slices.IndexFunc(kinds, func(k api.WatcherKind) bool { return k.Kind == kind })
	if at < 0 {
		return "", fmt.Errorf("%w: there is no kind of watcher %q; choose one on the page Watchers", api.ErrInvalid, kind)
	}
	config, err := readWatcherConfig(r, kinds[at])
	if err != nil {
		return keepInput(r, "", err)
	}
	notice, err := d.callTool(r, "create_watcher", struct {
		Kind   string         `json:"kind"`
		Config map[string]any `json:"config"`
		Action string         `json:"action,omitempty"`
	}{kind, config, strings.TrimSpace(r.PostForm.Get("action"))})
	return keepInput(r, notice, err)
}

// readWatcherConfig returns the configuration that a form contains.
func readWatcherConfig(r *request, k api.WatcherKind) (map[string]any, error) {
	config := map[string]any{}
	for _, f := range k.Fields {
		value := strings.TrimSpace(r.PostForm.Get("config-" + f.Key))
		switch {
		case value == "" && !f.Optional:
			return nil, fmt.Errorf("%w: %s is empty; fill it in", api.ErrInvalid, f.Title)
		case value == "":
		case f.YesNo:
			config[f.Key] = true
		case f.List:
			config[f.Key] = splitList(value)
		default:
			config[f.Key] = value
		}
	}
	for _, key := range []string{"every", "active_hours"} {
		if value := strings.TrimSpace(r.PostForm.Get(key)); value != "" {
			config[key] = value
		}
	}
	if value := r.PostForm.Get("per_day"); value != "" {
		n, err := strconv.Atoi(value)
		if err != nil {
			return nil, fmt.Errorf("%w: %q is not a number of notifications; write a whole number", api.ErrInvalid, shortText(value))
		}
		config["per_day"] = n
	}
	return config, nil
}

// splitList returns the parts of a text between commas.
func splitList(s string) (out []string) {
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

func (d *Dashboard) addSchedule(r *request) (string, error) {
	when, action := strings.TrimSpace(r.PostForm.Get("when")), strings.TrimSpace(r.PostForm.Get("action"))
	if when == "" || action == "" {
		return keepInput(r, "", fmt.Errorf("%w: the time or the action is empty; fill in both", api.ErrInvalid))
	}
	in := struct {
		Every  string `json:"every,omitempty"`
		At     string `json:"at,omitempty"`
		Action string `json:"action"`
	}{Every: when, Action: action}
	if r.PostForm.Get("often") == "at" {
		in.Every, in.At = "", when
	}
	notice, err := d.callTool(r, "create_schedule", in)
	return keepInput(r, notice, err)
}
