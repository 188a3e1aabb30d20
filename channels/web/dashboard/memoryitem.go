package dashboard

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"hob/autonomy/api"
)

// maxNear is the number of related rows on the page of one entry, and maxListed the number of rows
// of one kind in the preview of a deletion.
const (
	maxNear   = 20
	maxListed = 20
)

// showItem shows one entry: a fact with its history, a person or thing with its relations, or
// another row with its context.
func (d *Dashboard) showItem(r *request) (g.Node, error) {
	it, err := d.o.Backend.MemoryItem(r.Context(), r.queryValue("id"))
	if err != nil {
		return nil, err
	}
	back := h.P(h.A(h.Href("/memory"), g.Text("Back to the memory")))
	if it.Entity != nil {
		graph, err := d.o.Backend.MemoryGraph(r.Context(), it.Entity.ID, maxGraph)
		if err != nil {
			return nil, err
		}
		others, err := d.o.Backend.MemoryGraph(r.Context(), "", maxGraph)
		if err != nil {
			return nil, err
		}
		return h.Div(h.Class("stack"), back, renderEntity(r, it), renderIdentity(r, it.Entity, others.Entities), renderGraph(graph, "What Hob knows about "+it.Entity.Name), renderNear(r, "Where it is mentioned", it.Near)), nil
	}
	replaced := ""
	if it.ReplacedBy != nil {
		replaced = it.ReplacedBy.Text
	}
	isFact := it.Kind == "fact"
	return h.Div(
		h.Class("stack"), back,
		h.Section(
			h.Class("card"), h.H2(g.Text("Entry"), stateBadge(badgeSoft, kindName(it.Kind))),
			h.P(h.Class("text"), plainText(hitText(it.MemoryRow))),
			factList(
				fact{"Since", r.formatTime(it.At)}, fact{"Said by", authorName(it.Speaker)}, fact{"Valid from", r.formatDate(it.ValidFrom)}, fact{"Valid until", r.formatDate(it.ValidUntil)},
				fact{"Based on", authorName(string(it.Provenance))}, fact{"Source", it.Source}, fact{"Part of", it.Group}, fact{"Agent", it.Realm}, fact{"Replaced by", replaced}, fact{"Id", it.ID},
			),
			h.Div(
				h.Class("row"),
				g.If(it.Event != "", h.A(h.Class("button"), h.Href(whyLink(it.Event)), h.Data("drawer", ""), g.Text("Why"))),
				h.A(h.Class("button danger"), h.Href("/memory/forget?id="+url.QueryEscape(it.ID)), g.Text("Forget")),
			),
		),
		g.Iff(isFact, func() g.Node { return renderCorrection(r, it) }),
		g.If(len(it.About) > 0, cardSection("About", h.Ul(h.Class("list"), g.Map(it.About, func(e api.Entity) g.Node {
			return h.Li(h.A(h.Class("what"), h.Href("/memory/item?id="+url.QueryEscape(e.ID)), plainText(e.Name)), stateBadge(badgeSoft, e.Kind))
		})))),
		g.If(len(it.History) > 0, cardSection("Former values", h.Ul(h.Class("list"), g.Map(it.History, func(f api.Fact) g.Node {
			return h.Li(h.Span(h.Class("what"), plainText(f.Text)), h.Span(h.Class("soft small"), plainText(r.formatDate(f.CreatedAt)+" to "+r.formatDate(f.RetiredAt))))
		})))),
		renderNear(r, "Context", it.Near),
	), nil
}

// formatDate returns a day, or "" for no time.
func (r *request) formatDate(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(r.zone).Format("2 Jan 2006")
}

func renderCorrection(r *request, it api.MemoryItem) g.Node {
	return cardSection("Correct", h.ID("correct"), r.postForm(
		"memory/correct", h.Class("stack"), hiddenField("id", it.ID),
		labeledField("What is right", h.Textarea(h.Name("text"), h.Rows("3"), h.Required(), h.MaxLength("2000"), plainText(it.Text))),
		h.Div(h.Class("row"), h.Button(h.Type("submit"), h.Class("primary"), g.Text("Save")), h.Span(h.Class("soft small"), g.Text("Hob keeps the former value as history."))),
	))
}

func renderEntity(r *request, it api.MemoryItem) g.Node {
	e := it.Entity
	var said []string // several facts may state the same relation
	for _, l := range it.Relations {
		if s := relationText(l); !slices.Contains(said, s) {
			said = append(said, s)
		}
	}
	return h.Section(
		h.Class("card"), h.H2(h.Span(h.Class("what"), plainText(e.Name)), stateBadge(badgeSoft, e.Kind)),
		factList(fact{"Also", strings.Join(e.Aliases, ", ")}, fact{"Since", r.formatTime(e.CreatedAt)}, fact{"Based on", authorName(string(e.Provenance))}, fact{"Source", e.Source}),
		h.Ul(h.Class("list"), g.Map(said, func(s string) g.Node { return h.Li(h.Span(h.Class("what"), plainText(s))) })),
	)
}

// renderNear lists the rows around an entry.
func renderNear(r *request, title string, near []api.MemoryRow) g.Node {
	if len(near) == 0 {
		return nil
	}
	return cardSection(title, h.Ul(h.Class("list"), g.Map(near[:min(len(near), maxNear)], func(x api.MemoryRow) g.Node {
		return h.Li(
			h.Span(h.Class("what"), plainText(shortNotice(hitText(x)))), stateBadge(badgeSoft, rowKind(x)), rowActions(x.ID, x.Text, x.Kind),
			h.Span(h.Class("meta"), renderSpeaker(x), r.relativeTime(x.At)),
		)
	})))
}

// showForget asks whether to delete an entry, and shows what would be deleted with it.
func (d *Dashboard) showForget(r *request) (g.Node, error) {
	id := r.queryValue("id")
	list, err := d.o.Backend.PreviewErasure(r.Context(), api.Query{Of: id})
	if err != nil {
		return nil, err
	}
	var gone []string
	within := map[string]int{}
	for _, p := range list {
		for _, f := range p.Facts {
			gone = append(gone, f.Text)
		}
		for _, x := range p.Docs {
			gone = append(gone, x.Text)
		}
		for kind, n := range p.Within {
			within[kind] += n
		}
	}
	more := len(gone) - maxListed
	return h.Div(
		h.Class("stack"),
		h.P(h.A(h.Href("/memory"), g.Text("Back to the memory"))),
		cardSection("Forget this permanently?",
			g.If(len(gone) == 0, emptyState("Nothing to forget", "This entry no longer exists, or it cannot be deleted here.")),
			h.Ul(h.Class("list"), g.Map(gone[:min(len(gone), maxListed)], func(s string) g.Node { return h.Li(h.Span(h.Class("what"), plainText(shortNotice(s)))) })),
			g.If(more > 0, h.P(h.Class("soft small"), g.Text(fmt.Sprintf("and %d more", more)))),
			g.If(len(within) > 0, h.P(plainText("Hob also removes the text from: "+withinText(within)+"."))),
			h.P(h.Class("soft small"), g.Text("Hob also replaces backups that contain it. You cannot undo this.")),
			// The address must change with the content, because this page is gone afterwards.
			g.If(len(gone) > 0, h.Form(
				h.Class("row"), h.Method("post"), h.Action("/memory/forget"), hiddenField("id", id), hiddenField("back", "/memory"),
				h.Button(h.Type("submit"), h.Class("primary"), g.Text("Forget permanently")), h.A(h.Class("button"), h.Href("/memory"), g.Text("Cancel")),
			)),
		),
	), nil
}

// withinText lists the kinds of rows that keep a part of their text.
func withinText(within map[string]int) string {
	var out []string
	for _, kind := range sortedNames(within) {
		out = append(out, fmt.Sprintf("%d of the kind %s", within[kind], kindName(kind)))
	}
	return strings.Join(out, ", ")
}

// forgetRow deletes an entry. The page showed what is deleted, so the user's press of the button
// also answers the approval request of this call, but of no other call.
func (d *Dashboard) forgetRow(r *request) (string, error) {
	id := r.PostForm.Get("id")
	if id == "" {
		return "", fmt.Errorf("%w: the entry is missing; use its button", api.ErrInvalid)
	}
	out, err := d.runTool(r, "forget", struct {
		ID string `json:"id"`
	}{id})
	if err != nil {
		return "", err
	}
	for _, a := range out.Approvals {
		if a.Event != out.Event || a.Tool != "forget" {
			return "This needs your approval. See the page Approvals.", nil
		}
		if _, err := d.o.Backend.Answer(r.Context(), a.ID, api.Answer{Approved: true, By: r.by}); err != nil {
			return "", err
		}
	}
	if len(out.Approvals) > 0 {
		ctx, cancel := d.o.Lifetime(r.Context())
		defer cancel()
		st, err := d.o.Backend.Wait(ctx, out.Event)
		if err != nil {
			return "", err
		}
		if len(st.Approvals) > 0 {
			return "This needs your approval. See the page Approvals.", nil
		}
		if st.State != "done" {
			return "", fmt.Errorf("forget: the deletion ended in the state %s; see the page Timeline", st.State)
		}
		return shortNotice(st.Answer), nil
	}
	return shortNotice(out.Text), nil
}

// factText is the argument of the tool remember.
type factText struct {
	Text string `json:"text"`
}

func (d *Dashboard) addFact(r *request) (string, error) {
	return d.callTool(r, "remember", factText{r.PostForm.Get("text")})
}

// correctFact remembers what is right. Facts about the same subject are replaced; if Hob does not
// see that the new text replaces the old one, the notice says so.
func (d *Dashboard) correctFact(r *request) (string, error) {
	out, err := d.runTool(r, "remember", factText{r.PostForm.Get("text")})
	if err != nil {
		return "", err
	}
	if len(out.Approvals) > 0 {
		return "This needs your approval. See the page Approvals.", nil
	}
	var data struct {
		Fact    api.Fact   `json:"fact"`
		Retired []api.Fact `json:"retired"`
	}
	if err := json.Unmarshal(out.Data, &data); err != nil {
		return "", fmt.Errorf("correct the fact: decode the result of remember: %w", err)
	}
	old := r.PostForm.Get("id")
	notice := strings.TrimSpace(out.Text)
	if data.Fact.ID != old && !slices.ContainsFunc(data.Retired, func(f api.Fact) bool { return f.ID == old }) {
		notice += " The former text is kept too, because the new one does not contradict it. Forget it if it is wrong."
	}
	return shortNotice(notice), nil
}

// readLearnedChange returns the change that a form requests.
func readLearnedChange(r *request) api.LearnedChange {
	if r.PostForm.Get("delete") != "" {
		return api.LearnedChange{Delete: true}
	}
	return api.LearnedChange{Text: strings.TrimSpace(r.PostForm.Get("text"))}
}

func (d *Dashboard) changeLearned(r *request) (string, error) {
	c := readLearnedChange(r)
	if _, err := d.o.Backend.ChangeLesson(r.Context(), r.PostForm.Get("id"), c); err != nil {
		return "", err
	}
	return learnedNotice(c), nil
}

func (d *Dashboard) changeAbout(r *request) (string, error) {
	c := readLearnedChange(r)
	if _, err := d.o.Backend.ChangeUserEntry(r.Context(), r.PostForm.Get("id"), c); err != nil {
		return "", err
	}
	return learnedNotice(c), nil
}

func learnedNotice(c api.LearnedChange) string {
	if c.Delete {
		return "Deleted."
	}
	return "Saved."
}
