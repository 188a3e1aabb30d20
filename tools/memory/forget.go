package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/credential"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Forgetting performs erasures; *knowledge.ErasureService implements it.
type Forgetting interface {
	BeginTx(tx *store.Tx, b *knowledge.Base, e knowledge.Erasure, event string, keepBackups bool) (string, error)
}

type forgetIn struct {
	ID          string `json:"id,omitempty" jsonschema:"id of a fact, note, task or other row"`
	Query       string `json:"query,omitempty" jsonschema:"words of the facts; the exact text is redacted everywhere"`
	Source      string `json:"source,omitempty" jsonschema:"everything from this source: event:ID, session:ID, mail:ID, file:PATH, url:URL, import:NAME"`
	Everything  bool   `json:"everything,omitempty" jsonschema:"with query: all facts that match, and text that is only in conversations and records"`
	KeepBackups bool   `json:"keep_backups,omitempty" jsonschema:"keep older backups, which still contain it"`
}

// ForgetOut is the Data of forget.
type ForgetOut struct {
	Forgotten int            `json:"forgotten"` // number of facts, including replaced ones
	Rows      int            `json:"rows"`      // number of other rows that were deleted completely
	Within    map[string]int `json:"within,omitempty"`
	Erasure   string         `json:"erasure,omitempty"` // see GET /api/v1/memory/erasures
}

func (d Deps) forgetTool() tools.Tool {
	return tools.New(tools.Def[forgetIn]{
		Spec: tools.Spec{
			Name: "forget", Category: "memory", Effects: tools.Destroy,
			Description: "Permanently delete facts, with their history and every trace of them. Give id, query or source.",
			Keywords:    "delete erase remove memory fact everything mail conversation trace",
		},
		Summary: func(in forgetIn) string {
			switch {
			case in.ID != "":
				return "Forget " + in.ID + " permanently"
			case in.Source != "":
				return "Forget everything from " + quoteLine(textnorm.Ellipsize(in.Source, 100)) + " permanently"
			}
			return "Forget what is known about " + quoteLine(textnorm.Ellipsize(in.Query, 100)) + " permanently"
		},
		Judge: d.judgeForget,
		RunTx: d.runForget,
	})
}

// judgeForget shows the owner the data that would be deleted. The approval applies to exactly that
// data.
func (d Deps) judgeForget(ctx context.Context, in forgetIn) tools.CallAssessment {
	g, err := d.planForget(d.Knowledge.Reader(ctx), in, knowledge.ForgetRequest{EveryRealm: true, Asking: tools.Asking(ctx)})
	switch {
	case errors.Is(err, knowledge.ErrTooCommon), errors.Is(err, knowledge.ErrQueryTooLong), errors.Is(err, knowledge.ErrSourceUnknown):
		return tools.CallAssessment{Refused: classifyError(err)}
	case err != nil: // the call itself reports the error for its memory namespace
		return tools.CallAssessment{}
	}
	return tools.CallAssessment{Items: g.Items(), Why: summarizeErasure(g), Exact: "forget:" + g.Digest()}
}

// planForget returns the data that the call would delete. If a query matches several facts, the
// call must confirm that it means all of them. f specifies the agent for which the plan is made.
func (d Deps) planForget(q store.Querier, in forgetIn, f knowledge.ForgetRequest) (knowledge.ErasurePlan, error) {
	f.ID, f.Query, f.Everything, f.Source = in.ID, in.Query, in.Everything, in.Source
	g, err := d.Knowledge.PlanErasure(q, f)
	if err != nil || in.Query == "" || in.Everything {
		return g, err
	}
	live := slices.DeleteFunc(slices.Clone(g.Facts), func(f knowledge.Fact) bool { return !f.RetiredAt.IsZero() })
	if len(live) < 2 {
		return g, nil
	}
	one, err := tools.Pick("fact", in.Query, live, func(f knowledge.Fact) (string, string) { return f.ID, f.Text })
	if err != nil {
		return g, tools.Quoting(err, sourceOf(live, factSource))
	}
	f.ID, f.Query = one.ID, ""
	return d.Knowledge.PlanErasure(q, f)
}

// excerpts is the number of rows to delete whose first words are shown.
const excerpts = 4

// excerptsOf returns excerpts of some of the rows to delete. The excerpts are redacted later (see
// runForget), because the approval request is kept. Messages and documents are not quoted.
func excerptsOf(g knowledge.ErasurePlan) (out []string) {
	for _, f := range g.Facts[:min(excerpts, len(g.Facts))] {
		out = append(out, quoteLine(textnorm.Ellipsize(f.Text, 60)))
	}
	for _, doc := range g.Docs {
		if len(out) < excerpts && !isSaid(doc) {
			out = append(out, doc.Kind+" "+quoteLine(textnorm.Ellipsize(strings.TrimSpace(doc.Title+" "+doc.Text), 60)))
		}
	}
	return out
}

func isSaid(doc knowledge.Doc) bool {
	return doc.Kind == knowledge.KindTurn || doc.Kind == knowledge.KindChunk
}

func countMessages(g knowledge.ErasurePlan) (n int) {
	for _, doc := range g.Docs {
		if isSaid(doc) {
			n++
		}
	}
	return n
}

// summarizeErasure describes to the owner, in one line, what will be deleted.
func summarizeErasure(g knowledge.ErasurePlan) string {
	var parts, names []string
	add := func(n int, one, many string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, many))
		}
	}
	add(len(g.Facts), "fact", "facts")
	add(len(g.Docs)-countMessages(g), "other row", "other rows")
	add(countMessages(g), "message or part of a document", "messages and parts of documents")
	add(g.Turns, "conversation or turn", "conversations or turns")
	add(g.Calls, "tool call", "tool calls")
	names = excerptsOf(g)
	text := "it removes " + strings.Join(parts, ", ")
	switch {
	case slices.Contains(g.Erasure.Sources, knowledge.BrowserSource):
		text = "it removes all data of Hob's browser, including cookies: you are signed out of every site there"
	case len(parts) == 0:
		text = "it removes no complete row"
	}
	if more := len(g.Facts) + len(g.Docs) - countMessages(g) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	if len(names) > 0 {
		text += " (" + strings.Join(names, ", ") + ")"
	}
	var within []string
	for _, kind := range slices.Sorted(maps.Keys(g.Within)) {
		within = append(within, fmt.Sprintf("%d %s", g.Within[kind], pluralKind(kind, g.Within[kind])))
	}
	if len(within) > 0 { // a message that was just sent has no row yet
		text += "; in " + strings.Join(within, ", ") + ", and everywhere else the text occurs, Hob redacts it"
	} else if len(g.Erasure.Phrases) > 0 {
		text += "; everywhere else the text occurs, Hob redacts it"
	}
	return text
}

func pluralKind(kind string, n int) string {
	if kind == knowledge.KindTurn {
		kind = "message"
	}
	if n == 1 {
		return kind
	}
	return kind + "s"
}

func (d Deps) runForget(_ context.Context, tx *store.Tx, c tools.Call, in forgetIn) (tools.Result, error) {
	var shown []string
	if c.Exact != "" {
		all, err := d.planForget(tx, in, knowledge.ForgetRequest{EveryRealm: true, Asking: c.Event})
		if err != nil {
			return tools.Result{}, classifyError(err)
		}
		if c.Exact != "forget:"+all.Digest() {
			return tools.Result{}, tools.Errorf(tools.Failed, "the data to forget has changed since the approval; ask again")
		}
		shown = excerptsOf(all)
	}
	g, err := d.planForget(tx, in, knowledge.ForgetRequest{Realm: c.Realm, Asking: c.Event})
	switch {
	case errors.Is(err, knowledge.ErrNotFound), err == nil && len(g.Facts) == 0 && in.Query != "" && !in.Everything:
		return tools.Result{}, d.nothingToForget(tx, c.Realm, in)
	case err == nil && !g.Found() && in.Source != "" && in.Source != knowledge.BrowserSource && len(g.Erasure.Events)+len(g.Erasure.Sessions) == 0:
		return tools.Result{}, tools.Errorf(tools.NotFound, "no stored data has this source")
	case err != nil:
		return tools.Result{}, classifyError(err)
	}
	g.Erasure.Phrases = append(g.Erasure.Phrases, shown...)
	out := ForgetOut{Forgotten: len(g.Facts), Rows: len(g.Docs), Within: g.Within}
	if out.Erasure, err = d.eraseTx(tx, g, c, in.KeepBackups); err != nil {
		return tools.Result{}, classifyError(err)
	}
	return tools.Result{Source: provenance.Tool, Text: forgetText(g, in.KeepBackups), Data: out}, nil
}

// eraseTx starts the erasure. If Forgetting is nil, it only deletes the rows.
func (d Deps) eraseTx(tx *store.Tx, g knowledge.ErasurePlan, c tools.Call, keep bool) (string, error) {
	if d.Forgetting == nil {
		_, err := d.Knowledge.Eraser().EraseTx(tx, &g.Erasure, g.Erasure.Scrubber())
		return "", err
	}
	return d.Forgetting.BeginTx(tx, d.Knowledge, g.Erasure, c.Event, keep)
}

// forgetText returns the result text. It does not repeat the forgotten text.
func forgetText(g knowledge.ErasurePlan, keep bool) string {
	text := "Permanently deleted."
	retired := 0
	for _, f := range g.Facts {
		if !f.RetiredAt.IsZero() {
			retired++
		}
	}
	switch live := len(g.Facts) - retired; {
	case live > 1:
		text = fmt.Sprintf("Permanently deleted %d facts.", len(g.Facts))
	case live == 1 && retired > 0:
		text = fmt.Sprintf("Permanently deleted the fact and %d older versions of it.", retired)
	}
	if n := len(g.Docs); n > 0 {
		text += fmt.Sprintf(" %d other rows were deleted with it.", n)
	}
	if n := len(g.Made); n > 0 {
		var ids []string
		for _, doc := range g.Made {
			ids = append(ids, doc.Kind+" "+doc.Ref)
		}
		text += fmt.Sprintf(" Kept, but created with this text in the context; delete them by id if needed: %s.", textnorm.Ellipsize(strings.Join(ids, ", "), 400))
	}
	text += " Copies in conversations, records and files are deleted after this answer."
	if keep {
		text += " Older backups still contain it."
	}
	return text
}

func (d Deps) nothingToForget(tx *store.Tx, realm string, in forgetIn) error {
	if in.ID != "" {
		return tools.Errorf(tools.NotFound, "%w: %s", tools.CleanErr(knowledge.ErrNotFound), tools.Clean(textnorm.Ellipsize(in.ID, 40)))
	}
	e := tools.Errorf(tools.NotFound, "no remembered fact contains all of these words: %s", tools.Clean(quoteLine(textnorm.Ellipsize(in.Query, 100))))
	if notes, err := d.Knowledge.Search(tx, in.Query, knowledge.SearchOptions{Limit: 1, All: true, Kinds: []string{kindNote}}); err == nil && len(notes) > 0 {
		e.Remedy = "there is a note " + quoteLine(textnorm.Ellipsize(notes[0].Title, 60)) + ", which delete_note deletes"
		return tools.Quoting(e, notes[0].Provenance)
	}
	near, err := d.Knowledge.Recall(tx, realm, in.Query, 3)
	if err != nil {
		return classifyError(err)
	}
	var names []string
	for _, f := range near {
		if (credential.Viewer{}).Hides("", f.Text) {
			continue
		}
		names = append(names, quoteLine(textnorm.Ellipsize(f.Text, 80)))
	}
	if len(names) > 0 {
		e.Remedy = "the closest: " + strings.Join(names, ", ")
	}
	return tools.Quoting(e, sourceOf(near, factSource))
}
