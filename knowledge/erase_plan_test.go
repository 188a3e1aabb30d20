package knowledge_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/provenance/origins"
	"hob/platform/store"
)

// reopenWith reopens the base with other options.
func (h *erasureFixture) reopenWith(t *testing.T, o knowledge.Options) {
	t.Helper()
	var err error
	if h.base, err = knowledge.New(h.st, o); err != nil {
		t.Fatal(err)
	}
	h.ers = knowledge.NewErasing(h.st, knowledge.ErasingOptions{Erasers: func() []knowledge.Eraser { return []knowledge.Eraser{h.base.Eraser()} }})
}

func (h erasureFixture) putDocs(t *testing.T, docs ...knowledge.Doc) {
	t.Helper()
	err := h.st.Write(t.Context(), func(tx *store.Tx) error {
		for _, d := range docs {
			d.Provenance = provenance.Owner
			if err := h.base.IndexTx(tx, d); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (h erasureFixture) rememberText(t *testing.T, realm, text, event string) string {
	t.Helper()
	var id string
	err := h.st.Write(t.Context(), func(tx *store.Tx) error {
		r, err := h.base.RememberTx(tx, knowledge.Fact{Text: text, Realm: realm, Event: event, Provenance: provenance.Owner})
		id = r.Fact.ID
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (h erasureFixture) planErasure(t *testing.T, f knowledge.ForgetRequest) knowledge.ErasurePlan {
	t.Helper()
	g, err := h.base.PlanCommitted(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// remainingTexts returns the texts of the remaining rows by ref or id.
func (h erasureFixture) remainingTexts(t *testing.T) map[string]string {
	t.Helper()
	all, err := h.base.RowsAfter(h.st.Reader(t.Context()), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, c := range all {
		if c.Doc.Kind != knowledge.KindFact {
			out[c.Doc.Ref] = c.Doc.Text
		}
	}
	return out
}

func TestForget_KeepsUnrelatedLines(t *testing.T) {
	const thanks, milk = "thanks, that is all for today", "buy milk and eggs on the way"
	for _, tc := range []struct {
		name string
		f    knowledge.ForgetRequest
		want map[string]string
	}{
		{"a conversation", knowledge.ForgetRequest{Source: "session:s1"}, map[string]string{"m2": thanks, "d1.0": thanks, "n1": milk + "\nthe gate opens with Kestrel-9981", "n2": milk, "m3": "noted: the gate opens with Kestrel-9981"}},
		{"a document", knowledge.ForgetRequest{Source: "file:/a.txt"}, map[string]string{"m1": thanks, "m2": thanks, "n1": milk + "\nthe gate opens with Kestrel-9981", "n2": milk, "m3": "noted: the gate opens with Kestrel-9981"}},
		{"a note", knowledge.ForgetRequest{ID: "n1"}, map[string]string{"m1": thanks, "m2": thanks, "d1.0": thanks, "n2": milk, "m3": "noted: [forgotten]"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newFixture(t)
			h.putDocs(t,
				knowledge.Doc{Kind: knowledge.KindTurn, Ref: "m1", Text: thanks, Group: "s1", Source: "event:e1"},
				knowledge.Doc{Kind: knowledge.KindTurn, Ref: "m2", Text: thanks, Group: "s2", Source: "event:e2"},
				knowledge.Doc{Kind: knowledge.KindTurn, Ref: "m3", Text: "noted: the gate opens with Kestrel-9981", Group: "s2", Source: "event:e3"},
				knowledge.Doc{Kind: knowledge.KindChunk, Ref: "d1.0", Text: thanks, Group: "d1", Source: "file:/a.txt"},
				knowledge.Doc{Kind: "note", Ref: "n1", Text: milk + "\nthe gate opens with Kestrel-9981"},
				knowledge.Doc{Kind: "note", Ref: "n2", Text: milk},
			)
			h.forgetPhrase(t, tc.f)
			if got := h.remainingTexts(t); !maps.Equal(got, tc.want) {
				t.Errorf("%q", got)
			}
		})
	}
}

// An erasure by an agent with its own realm leaves the data of other agents unchanged.
func TestForget_KeepsDataOfOtherAgents(t *testing.T) {
	h := newFixture(t)
	same := "the pump of the cellar has the number 771204"
	main, mine := h.rememberText(t, "", same, "e1"), h.rememberText(t, "cook", same, "e2")
	h.putDocs(t,
		knowledge.Doc{Kind: knowledge.KindTurn, Ref: "m1", Text: "what was said to the main agent", Group: "s1", Source: "event:e1"},
		knowledge.Doc{Kind: knowledge.KindTurn, Ref: "m2", Text: "what was said to the cook", Group: "s2", Source: "event:e2", Realm: "cook"},
		knowledge.Doc{Kind: knowledge.KindTurn, Ref: "m3", Text: "what was said to the gardener", Group: "s3", Source: "event:e3", Realm: "gardener"},
		knowledge.Doc{Kind: knowledge.KindChunk, Ref: "d1.0", Text: "the manual", Group: "d1", Source: "file:/manual"},
		knowledge.Doc{Kind: knowledge.KindChunk, Ref: "d2.0", Text: "the manual", Group: "d2", Source: "file:/manual", Realm: "cook"},
	)
	for _, id := range []string{main, "d1.0"} {
		if _, err := h.base.PlanCommitted(t.Context(), knowledge.ForgetRequest{ID: id, Realm: "cook"}); !errors.Is(err, knowledge.ErrNotFound) {
			t.Errorf("%s: PlanCommitted = %v, want ErrNotFound", id, err)
		}
	}
	for _, source := range []string{"session:s1", "session:s3", "event:e1", "event:e3", "session:none"} {
		if g := h.planErasure(t, knowledge.ForgetRequest{Source: source, Realm: "cook"}); g.Found() || !g.Erasure.Empty() {
			t.Errorf("%s: %+v", source, g)
		}
	}
	h.forgetPhrase(t, knowledge.ForgetRequest{Source: "file:/manual", Realm: "cook"})
	h.forgetPhrase(t, knowledge.ForgetRequest{ID: mine, Realm: "cook"})
	h.forgetPhrase(t, knowledge.ForgetRequest{Source: "session:s2", Realm: "cook"})
	want := map[string]string{"m1": "what was said to the main agent", "m3": "what was said to the gardener", "d1.0": "the manual"}
	if got := h.remainingTexts(t); !maps.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if left, err := h.base.ListFacts(t.Context(), 10, true); err != nil || len(left) != 1 || left[0].ID != main || left[0].Text != same {
		t.Errorf("ListFacts = %+v %v", left, err)
	}
	h.forgetPhrase(t, knowledge.ForgetRequest{Source: "file:/manual"})
	if got := h.remainingTexts(t); got["d1.0"] != "" {
		t.Error("the main agent reached another realm")
	}
}

// eventLedger returns a function that lists the calls of an event.
func eventLedger(calls map[string][]string) func(store.Querier, []string) ([]string, error) {
	return func(_ store.Querier, events []string) (out []string, err error) {
		for _, e := range events {
			out = append(out, calls[e]...)
		}
		return out, nil
	}
}

func conversationEvents(events map[string][]string) func(store.Querier, string) ([]string, error) {
	return func(_ store.Querier, s string) ([]string, error) { return events[s], nil }
}

func (h erasureFixture) keepOrigin(t *testing.T, kind, ref string, o provenance.Origin) {
	t.Helper()
	err := h.st.Write(t.Context(), func(tx *store.Tx) error { return origins.KeepTx(tx, kind, ref, []provenance.Origin{o}) })
	if err != nil {
		t.Fatal(err)
	}
}

// Erasing a conversation erases its tool calls, the calls of tasks delegated in it, and calls
// derived from its messages.
func TestForget_ConversationWithItsCalls(t *testing.T) {
	h := newFixture(t)
	h.reopenWith(t, knowledge.Options{
		Events: conversationEvents(map[string][]string{"s": {"e1", "e2"}}), Calls: eventLedger(map[string][]string{"e1": {"c1"}, "e3": {"c3"}, "e9": {"c9"}}),
		Below: func(_ store.Querier, event string) ([]string, error) {
			return map[string][]string{"e2": {"e3"}}[event], nil
		},
	})
	h.keepOrigin(t, origins.Result, "c4", provenance.Origin{Kind: "conversation", Label: "s", Event: "e1"})
	h.keepOrigin(t, origins.Call, "c5", provenance.Origin{Kind: "web", Label: "https://x.example", Event: "e2"})
	h.keepOrigin(t, origins.Result, "c6", provenance.Origin{Kind: "conversation", Label: "other", Event: "e9"})
	g := h.planErasure(t, knowledge.ForgetRequest{Source: "session:s"})
	slices.Sort(g.Erasure.Calls)
	if !slices.Equal(g.Erasure.Calls, []string{"c1", "c3", "c4", "c5"}) || g.Calls != 4 || !slices.Equal(g.Erasure.Events, []string{"e1", "e2", "e3"}) {
		t.Errorf("%+v", g.Erasure)
	}
}

// A file of the user is found by its path in any spelling.
func TestForget_FileBelowTheHome(t *testing.T) {
	h := newFixture(t)
	h.reopenWith(t, knowledge.Options{Home: "/home/ana"})
	h.putDocs(t, knowledge.Doc{Kind: knowledge.KindChunk, Ref: "d1.0", Text: "the manual", Group: "d1", Source: "file:/home/ana/doc/manual.pdf"})
	h.keepOrigin(t, origins.Result, "c1", provenance.Origin{Kind: "file", Label: "~/doc/manual.pdf"})
	h.keepOrigin(t, origins.Result, "c2", provenance.Origin{Kind: "file", Label: "/home/ana/doc/manual.pdf"})
	h.keepOrigin(t, origins.Result, "c3", provenance.Origin{Kind: "file", Label: "~/doc/manual.pdf.txt"})
	for _, source := range []string{"file:~/doc/manual.pdf", "file:/home/ana/doc/manual.pdf"} {
		g := h.planErasure(t, knowledge.ForgetRequest{Source: source})
		slices.Sort(g.Erasure.Calls)
		if !slices.Equal(g.Erasure.Calls, []string{"c1", "c2"}) || len(g.Docs) != 1 || g.Erasure.Sources[0] != "file:/home/ana/doc/manual.pdf" {
			t.Errorf("%s: %+v", source, g.Erasure)
		}
	}
}

// An approval covers the displayed plan only. It stays valid while the requesting turn continues.
func TestForget_ApprovalCoversTheShownPlan(t *testing.T) {
	h := newFixture(t)
	events, calls := map[string][]string{"here": {"e1", "asks"}, "there": {"e5"}}, map[string][]string{"e1": {"c1"}, "asks": {"c2"}}
	h.reopenWith(t, knowledge.Options{Events: conversationEvents(events), Calls: eventLedger(calls)})
	h.putDocs(t, knowledge.Doc{Kind: knowledge.KindTurn, Ref: "m1", Text: "hello", Group: "here", Source: "event:e1"})
	digest := func(source string) string {
		return h.planErasure(t, knowledge.ForgetRequest{Source: source, EveryRealm: true, Asking: "asks"}).Digest()
	}
	here, there, page := digest("session:here"), digest("session:there"), digest("url:https://x.example")
	if here == there || there == page {
		t.Fatal("different plans have the same digest")
	}
	// The turn continues: the request becomes a row, the call is recorded, the approval is a
	// message.
	h.putDocs(t, knowledge.Doc{Kind: knowledge.KindTurn, Ref: "m2", Text: "forget what was said here", Group: "here", Source: "event:asks"})
	calls["asks"] = append(calls["asks"], "c3")
	events["here"] = append(events["here"], "yes")
	h.keepOrigin(t, origins.Call, "c3", provenance.Origin{Kind: "web", Label: "https://x.example", Event: "e1"})
	if digest("session:here") != here || digest("session:there") != there || digest("url:https://x.example") != page {
		t.Error("the digest changed although the plan did not")
	}
	// Another conversation continues.
	events["there"] = append(events["there"], "e6")
	h.keepOrigin(t, origins.Result, "c7", provenance.Origin{Kind: "web", Label: "https://x.example"})
	if digest("session:there") == there || digest("url:https://x.example") == page {
		t.Error("the digest did not change with the plan")
	}
}
