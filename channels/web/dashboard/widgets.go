package dashboard

import (
	"fmt"
	"net/url"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"hob/autonomy/api"
	"hob/platform/text/visible"
)

// renderWidgets shows widgets side by side. A model may have written a widget, so each one is in a frame with an opaque origin, without scripts, forms, navigation and
// network (see framePolicy). Its title and origin are outside of the frame, where the widget cannot
// imitate them.
func renderWidgets(r *request, list []api.Widget) g.Node {
	if len(list) == 0 {
		return nil
	}
	return h.Div(h.Class("columns wide"), g.Map(list, func(w api.Widget) g.Node { return renderWidget(r, w) }))
}

func renderWidget(r *request, w api.Widget) g.Node {
	pin, label := "yes", "Pin"
	if w.Pinned {
		pin, label = "no", "Unpin"
	}
	// The address changes with the content. Otherwise, a live update would keep the old frame.
	src := "/today/widget?id=" + url.QueryEscape(w.ID) + "&v=" + strconv.FormatInt(w.UpdatedAt.UnixMilli(), 36)
	return h.Section(
		h.Class("card widget"), h.ID("widget-"+w.ID), h.Aria("labelledby", "title-"+w.ID),
		h.H2(h.Span(h.ID("title-"+w.ID), plainText(w.Title)), h.Span(
			h.Class("acts small"),
			r.actionButton("today/pin", label, h.Aria("label", visible.Text(label+": "+w.Title)), fact{"title", w.Title}, fact{"pin", pin}),
			r.actionButton("today/remove", "Remove", h.Aria("label", visible.Text("Remove: "+w.Title)), fact{"title", w.Title}),
		)),
		h.IFrame(
			h.Class(frameClass(w)), h.Src(src), g.Attr("sandbox", ""), h.Title(visible.Text("Widget made by Hob: "+w.Title)), h.Height(strconv.Itoa(w.Height)), h.Loading("lazy"), g.Attr("referrerpolicy", "no-referrer"),
		),
		h.P(h.Class("soft small"), g.Text("Made by Hob "), r.relativeTime(w.UpdatedAt), renderOrigin(string(w.Provenance))),
	)
}

// frameClass returns the class of a frame whose height depends on its width.
func frameClass(w api.Widget) string {
	switch {
	case w.ContentType != "bar" && w.ContentType != "line":
		return "fixed"
	case w.Height > api.ChartHeight:
		return "chart legend"
	}
	return "chart"
}

// showWidget returns the document in the frame of a widget.
func (d *Dashboard) showWidget(r *request) (g.Node, error) {
	id := r.queryValue("id")
	if id == "" {
		return nil, fmt.Errorf("%w: the id of the widget is missing; open the page Today", api.ErrInvalid)
	}
	list, err := d.o.Backend.Widgets(r.Context(), api.Query{Of: id})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 { // a browser would block an error page in the frame
		list = []api.Widget{{Title: "Removed", HTML: "<p>This widget was removed.</p>"}}
	}
	style, err := d.files["widget.css"].read()
	if err != nil {
		return nil, err
	}
	r.framed = true
	return h.Doctype(h.HTML(
		h.Lang("en"),
		h.Head(
			h.Meta(h.Charset("utf-8")), h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.Meta(h.Name("color-scheme"), h.Content("light dark")), h.TitleEl(plainText(list[0].Title)),
			h.StyleEl(g.Attr("nonce", r.nonce), g.Raw(string(style.plain))),
		),
		h.Body(h.Dir("auto"), g.Raw(list[0].HTML)), // sanitized by the tools, see api.Widget
	)), nil
}

func (d *Dashboard) pinWidget(r *request) (string, error) {
	return d.callTool(r, "canvas_push", struct {
		Title string `json:"title"`
		Pin   bool   `json:"pin"`
	}{r.PostForm.Get("title"), r.PostForm.Get("pin") == "yes"})
}

func (d *Dashboard) removeWidget(r *request) (string, error) {
	title := r.PostForm.Get("title")
	if title == "" { // without a title, the tool removes all widgets
		return "", fmt.Errorf("%w: the widget is missing; use its button", api.ErrInvalid)
	}
	return d.callTool(r, "canvas_reset", struct {
		Title string `json:"title"`
	}{title})
}
