package dashboard

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"hob/autonomy/api"
	"hob/platform/text/graphdraw"
	"hob/platform/text/markup"
	"hob/platform/text/visible"
)

const (
	// maxGraph is the number of entities in the picture. More of them overlap on a screen.
	maxGraph = 30
	// maxFacts is the number of facts that the page reads. It shows them in pages.
	maxFacts = 5000
	maxHits  = 20 // number of results of a search
	maxNew   = 10 // number of facts in the list of what is new today
)

// memoryPage shows what Hob knows, and lets the user search, correct and forget it.
func (d *Dashboard) memoryPage() page {
	return page{
		path: "/memory", title: "Memory", about: "What Hob knows about you and your world.",
		icon: "M12 5a3 3 0 0 0-5.5 1.5A3 3 0 0 0 5 12a3 3 0 0 0 2 5 3 3 0 0 0 5 1.5zM12 5a3 3 0 0 1 5.5 1.5A3 3 0 0 1 19 12a3 3 0 0 1-2 5 3 3 0 0 1-5 1.5zM12 5v13.5",
		show: d.showMemory,
		views: map[string]func(*request) (g.Node, error){
			"item": d.showItem, "forget": d.showForget,
		},
		actions: map[string]action{
			"add": d.addFact, "correct": d.correctFact, "forget": d.forgetRow, "learned": d.changeLearned, "about": d.changeAbout, "merge": d.mergePeople, "split": d.splitPerson,
		},
		commands: []command{{"Search the memory", "/memory#search"}, {"Add a fact", "/memory#new-fact"}},
	}
}

// memoryKinds returns the choices of the filter.
func memoryKinds() []option {
	return []option{
		{"", "Everything"}, {"fact", "Facts"}, {"turn", "Conversations"}, {"note", "Notes"}, {"chunk", "Documents"}, {"task", "Tasks"}, {"reminder", "Reminders"}, {"expense", "Expenses"},
	}
}

func (d *Dashboard) showMemory(r *request) (g.Node, error) {
	text, kind := strings.TrimSpace(r.queryValue("q")), r.queryValue("kind")
	search := h.Form(
		h.Class("filters"), h.ID("search"), h.Method("get"), h.Action("/memory"), h.Role("search"),
		h.Label(h.Class("field grow"), g.Text("Search"), h.Input(h.Type("search"), h.Name("q"), h.Value(text), h.Placeholder("Words, a name, or a question"), h.MaxLength("1000"), h.AutoComplete("off"))),
		labeledField("Kind", selectBox("kind", kind, memoryKinds()...)),
		h.Button(h.Type("submit"), h.Class("primary"), g.Text("Search")),
		g.If(text != "", h.A(h.Class("button"), h.Href("/memory"), g.Text("Show all"))),
	)
	var content g.Node
	var err error
	if text != "" {
		content, err = d.renderSearch(r, text, kind)
	} else {
		content, err = d.renderOverview(r)
	}
	if err != nil {
		return nil, err
	}
	return g.Group{search, content}, nil
}

// renderSearch shows what matches a query, and why.
func (d *Dashboard) renderSearch(r *request, text, kind string) (g.Node, error) {
	q := api.MemoryQuery{Text: text, Limit: maxHits, History: true}
	if kind != "" {
		q.Kinds = []string{kind}
	}
	found, err := d.o.Backend.ExplainSearch(r.Context(), q)
	if err != nil {
		return nil, err
	}
	most := 0.0
	for _, x := range found.Hits {
		for _, p := range x.Parts {
			most = max(most, p.Value, -p.Value)
		}
	}
	return h.Section(
		h.Class("card"), h.Aria("labelledby", "results"),
		h.H2(h.ID("results"), g.Text("Results"), h.Span(h.Class("soft small"), plainText(fmt.Sprintf("%d for “%s”", len(found.Hits), shortText(text))))),
		g.If(len(found.Hits) == 0, emptyState("Nothing matches", "Try other words, or another kind.")),
		g.If(found.Withheld > 0, h.P(h.Class("soft small"), g.Text(fmt.Sprintf("%d results are hidden because they look like passwords or keys. Search for them by name.", found.Withheld)))),
		h.Ul(h.Class("list"), g.Map(found.Hits, func(x api.MemoryRow) g.Node { return renderHit(r, x, most) })),
		g.If(len(found.Route.Reasons) > 0, h.Details(
			h.Class("small soft"), h.Summary(g.Text("How Hob searched")),
			h.Ul(h.Class("plain"), g.Map(found.Route.Reasons, func(s string) g.Node { return h.Li(plainText(capitalizeFirst(s))) })),
		)),
	), nil
}

// kindName returns the kind of a row in words.
func kindName(kind string) string {
	switch kind {
	case "turn":
		return "message"
	case "chunk":
		return "document"
	case "retired":
		return "corrected"
	}
	return kind
}

// rowKind returns the kind of a search result in words.
func rowKind(x api.MemoryRow) string {
	if x.Kind == "turn" && x.Speaker == "tool" {
		return "tool result"
	}
	return kindName(x.Kind)
}

// renderSpeaker shows who wrote a search result, if its kind does not show it.
func renderSpeaker(x api.MemoryRow) g.Node {
	return g.If(x.Speaker != "" && x.Speaker != "tool", plainText(authorName(x.Speaker)+", "))
}

func renderHit(r *request, x api.MemoryRow, most float64) g.Node {
	return h.Li(
		h.Span(h.Class("what"), plainText(shortNotice(hitText(x)))),
		stateBadge(badgeSoft, rowKind(x)), g.If(x.Past && x.Kind != "retired", stateBadge(badgeWarn, "past")),
		rowActions(x.ID, x.Text, x.Kind),
		h.Span(h.Class("meta"), renderSpeaker(x), r.relativeTime(x.At), g.If(x.Source != "" && !strings.HasPrefix(x.Source, "event:"), plainText(" · "+x.Source)), renderOrigin(string(x.Provenance))),
		g.If(len(x.Parts) > 0, h.Details(
			h.Class("meta"), h.Summary(g.Text("Why it matched")),
			h.Table(
				h.Class("scores"),
				h.Caption(h.Class("sr"), g.Text("Parts of the score")),
				h.THead(h.Class("sr"), h.Tr(h.Th(h.Scope("col"), g.Text("Part")), h.Th(h.Scope("col"), g.Text("Score")), h.Th(h.Scope("col"), g.Text("Share")))),
				h.TBody(g.Map(x.Parts, func(p api.ScorePart) g.Node {
					return h.Tr(h.Td(plainText(p.Name)), h.Td(h.Class("num"), g.Text(fmt.Sprintf("%.3f", p.Value))), h.Td(shareBar(p.Value, most, p.Name)))
				})),
			),
		)),
	)
}

// authorName returns an author or a source of text in words.
func authorName(s string) string {
	switch s {
	case "owner":
		return "you"
	case "hob":
		return "Hob"
	case "outside":
		return "untrusted text"
	case "tool":
		return "a tool"
	}
	return s
}

func hitText(x api.MemoryRow) string {
	isFact := x.Kind == "fact" || x.Kind == "retired" // whose title holds only words for the search
	text := x.Text
	if x.Kind == "turn" { // Hob writes its messages in Markdown
		text = markup.Plain(text)
	}
	if x.Title != "" && !isFact && !strings.HasPrefix(x.Text, strings.TrimSuffix(x.Title, "…")) {
		return strings.TrimSuffix(x.Title+": "+text, ": ")
	}
	return text
}

// renderOrigin marks text that is not from the user.
func renderOrigin(source string) g.Node {
	if source == "outside" {
		return g.Group{g.Text(" · "), stateBadge(badgeWarn, "untrusted text")}
	}
	return nil
}

// rowActions returns the links and buttons of a row of the memory.
func rowActions(id, text, kind string) g.Node {
	label := shortText(text)
	link := func(view, part, word, class string) g.Node {
		return h.A(h.Class("button small "+class), h.Href("/memory/"+view+"?id="+url.QueryEscape(id)+part), h.Aria("label", visible.Text(word+": "+label)), g.Text(word))
	}
	return h.Span(
		h.Class("acts small"),
		link("item", "", "Details", ""),
		g.If(kind == "fact", link("item", "#correct", "Correct", "")),
		link("forget", "", "Forget", "danger"),
	)
}

// renderOverview shows the facts, the people and things, and what Hob learned.
func (d *Dashboard) renderOverview(r *request) (g.Node, error) {
	ctx := r.Context()
	facts, err := d.o.Backend.Facts(ctx, maxFacts, false)
	if err != nil {
		return nil, err
	}
	graph, err := d.o.Backend.MemoryGraph(ctx, "", maxGraph)
	if err != nil {
		return nil, err
	}
	learned, err := d.renderLearned(r, facts)
	if err != nil {
		return nil, err
	}
	rows, more, last := pageOf(r, facts, func(f api.Fact) string { return f.ID })
	first := r.queryValue("before") == ""
	return h.Div(
		h.Class("stack"),
		g.Iff(first, func() g.Node { return renderGraph(graph, "What Hob knows about people and things") }),
		h.Section(
			h.Class("card"), h.Aria("labelledby", "facts"),
			h.H2(h.ID("facts"), g.Text("Facts"), h.Span(h.Class("soft small"), g.Text(fmt.Sprint(len(facts))))),
			r.postForm(
				"memory/add", h.Class("row"), h.ID("new-fact"),
				h.Label(h.Class("field grow"), g.Text("New fact"), h.Input(h.Name("text"), h.Placeholder("My sister Ana lives in Ljubljana"), h.Required(), h.MaxLength("2000"), h.AutoComplete("off"))),
				h.Button(h.Type("submit"), g.Text("Remember")),
			),
			g.If(len(facts) == 0, emptyState("No facts yet", "Add one above, or tell Hob in the chat: remember that the spare key is with Ana.")),
			h.Ul(h.Class("list"), g.Map(rows, func(f api.Fact) g.Node { return renderFact(r, f) })),
			r.pagerLinks(more, last),
		),
		g.If(first, learned),
	), nil
}

func renderFact(r *request, f api.Fact) g.Node {
	return h.Li(
		h.ID("fact-"+f.ID),
		h.Span(h.Class("what"), plainText(shortNotice(f.Text))),
		g.If(f.Kind != "" && f.Kind != "fact", stateBadge(badgeSoft, f.Kind)),
		rowActions(f.ID, f.Text, "fact"),
		h.Span(h.Class("meta"), r.relativeTime(f.CreatedAt), renderOrigin(string(f.Provenance))),
	)
}

// drawableGraph returns a graph for the picture. Several facts may state the same relation.
func drawableGraph(x api.MemoryGraph) graphdraw.Graph {
	var p graphdraw.Graph
	linked := map[string]bool{}
	for _, e := range x.Relations {
		if edge := (graphdraw.Edge{From: e.From, Label: e.Name, To: e.To}); !e.Over && !slices.Contains(p.Edges, edge) {
			p.Edges = append(p.Edges, edge)
			linked[e.From], linked[e.To] = true, true
		}
	}
	for _, e := range x.Entities {
		if linked[e.ID] || len(linked) == 0 { // the list below the picture has the others
			p.Nodes = append(p.Nodes, graphdraw.Node{ID: e.ID, Name: e.Name, Kind: e.Kind})
		}
	}
	return p
}

// withoutKinds returns a graph whose tree fits a phone. The list below the picture names the kinds.
func withoutKinds(p graphdraw.Graph) graphdraw.Graph {
	p.Nodes = slices.Clone(p.Nodes)
	for i := range p.Nodes {
		p.Nodes[i].Kind = ""
	}
	return p
}

// renderGraph draws people and things with their relations, and lists them in words.
func renderGraph(x api.MemoryGraph, label string) g.Node {
	if len(x.Entities) == 0 {
		return nil
	}
	p := drawableGraph(x)
	return h.Section(
		h.Class("card"), h.Aria("labelledby", "graph"),
		h.H2(h.ID("graph"), g.Text("People and things"), h.Span(h.Class("soft small"), g.Text(fmt.Sprintf("%d shown", len(x.Entities))))),
		h.Figure(
			h.Div(h.Class("scroll wide"), h.Role("region"), h.Aria("label", "Picture of people and things"), h.TabIndex("0"), g.Raw(p.InlineSVG(label))),
			h.Pre(h.Class("narrow wrap"), plainText(withoutKinds(p).Tree("", func(_ graphdraw.Node, name string) string { return name }))),
			h.FigCaption(h.Class("soft small"), g.Text("Each arrow is a relation. The list below says the same in words.")),
		),
		h.Details(
			h.Summary(g.Text("List")),
			h.Ul(h.Class("list"), g.Map(x.Entities, func(e api.Entity) g.Node {
				return h.Li(
					h.A(h.Class("what"), h.Href("/memory/item?id="+url.QueryEscape(e.ID)), plainText(e.Name)), stateBadge(badgeSoft, e.Kind),
					g.Map(x.Relations, func(l api.GraphEdge) g.Node {
						if l.From != e.ID {
							return nil
						}
						return h.Span(h.Class("meta"), plainText(relationText(l)))
					}),
				)
			})),
		),
	)
}

// relationText returns a relation as a sentence.
func relationText(l api.GraphEdge) string {
	s := l.FromName + " " + l.Name + " " + l.ToName
	if l.Over {
		s += " (no longer)"
	}
	return s
}

// renderLearned shows what is new today, what Hob knows about the user, and the lessons.
func (d *Dashboard) renderLearned(r *request, facts []api.Fact) (g.Node, error) {
	lessons, err := d.o.Backend.Lessons(r.Context(), api.Query{Limit: pageRows})
	if err != nil {
		return nil, err
	}
	about, err := d.o.Backend.UserEntries(r.Context())
	if err != nil {
		return nil, err
	}
	today := startOfDay(r.now)
	var fresh g.Group
	add := func(kind, text string, at time.Time) {
		if !at.Before(today) && len(fresh) < maxNew {
			fresh = append(fresh, h.Li(h.Span(h.Class("what"), plainText(shortNotice(text))), stateBadge(badgeSoft, kind), h.Span(h.Class("soft small num"), r.relativeTime(at))))
		}
	}
	for _, x := range lessons {
		add("lesson", x.Text, x.CreatedAt)
	}
	for _, x := range about {
		add("about you", x.What+": "+x.Text, x.At)
	}
	for _, x := range facts {
		add(cmp.Or(x.Kind, "fact"), x.Text, x.CreatedAt)
	}
	shown := lessons[:min(len(lessons), pageRows)]
	return h.Div(
		h.Class("columns"),
		cardSection("Learned today", g.If(len(fresh) == 0, emptyState("Nothing new today", "Hob lists here what it learned since midnight.")), h.Ul(h.Class("list"), fresh)),
		cardSection("About you", g.If(len(about) == 0, emptyState("Nothing yet", "Hob learns your name, language and preferences from what you say.")),
			h.Ul(h.Class("list"), g.Map(about, func(x api.UserEntry) g.Node {
				return h.Li(
					h.Span(h.Class("what"), plainText(x.Text)), stateBadge(badgeSoft, x.What),
					renderEdit(r, "memory/about", x.ID, x.Text, x.SaidBy != "hob"),
					h.Span(h.Class("meta"), r.relativeTime(x.At)),
				)
			}))),
		cardSection("Lessons", g.If(len(shown) == 0, emptyState("No lessons yet", "Hob notes here how you want things done.")),
			h.Ul(h.Class("list"), g.Map(shown, func(x api.Lesson) g.Node {
				return h.Li(
					h.Span(h.Class("what"), plainText(x.Text)), renderEdit(r, "memory/learned", x.ID, x.Text, true),
					h.Span(h.Class("meta"), plainText(fmt.Sprintf("Confidence %d of 10, used %d times, ", x.Confidence, x.Uses)), r.relativeTime(x.SeenAt)),
				)
			}))),
	), nil
}

// renderEdit lets the user change or remove what Hob learned.
func renderEdit(r *request, action, id, text string, editable bool) g.Node {
	consequence := "This cannot be undone."
	if editable && action == "memory/about" {
		consequence = "To restore it, run: hob undo"
	}
	return h.Span(
		h.Class("acts small"),
		g.Iff(editable, func() g.Node {
			return g.Group{
				h.Button(h.Type("button"), h.PopoverTarget("edit-"+id), h.Aria("label", "Correct: "+shortText(text)), g.Text("Correct")),
				h.Div(
					h.ID("edit-"+id), h.Popover("auto"), h.Role("dialog"), h.Aria("label", "Correct"),
					r.postForm(action, h.Class("stack"), hiddenField("id", id),
						labeledField("New text", h.Textarea(h.Name("text"), h.Rows("3"), h.Required(), h.MaxLength("1000"), plainText(text))),
						h.Div(h.Class("row"), h.Button(h.Type("submit"), h.Class("primary"), g.Text("Save")),
							h.Button(h.Type("button"), h.PopoverTarget("edit-"+id), h.PopoverTargetAction("hide"), g.Text("Cancel")))),
				),
			}
		}),
		r.confirmButton("drop-"+id, action, "Forget", "Forget “"+shortText(text)+"”? "+consequence, fact{"id", id}, fact{"delete", "yes"}),
	)
}
