package web_test

import (
	"slices"
	"strings"
	"testing"

	"hob/autonomy/api"
	"hob/channels"
)

// A display belongs to the client that identifies itself: the response to its own POST, and its own
// reports.
func TestReview1_DisplayBelongsToTheClientThatShowsIt(t *testing.T) {
	h := newHouse(t, nil)
	h.e.turn = func(e *engine, _ channels.Inbound, st *api.EventStatus) {
		e.change(func() { st.Approvals = []api.Approval{{ID: "a1", Tool: "trash_file"}} })
	}
	const path = "/api/v1/sessions/s/messages"
	shown := func() []string {
		h.e.mu.Lock()
		defer h.e.mu.Unlock()
		return slices.Clone(h.e.shown)
	}
	h.send(t, "POST", path, `{"text":"one"}`) // names no client
	if got := shown(); len(got) != 0 {
		t.Errorf("a client without a name is shown %q", got)
	}
	h.send(t, "POST", path, `{"text":"two"}`, "X-Hob-Client", "page-1")
	if got := shown(); !slices.Equal(got, []string{"page-1 [a1] false"}) {
		t.Errorf("shown: %q", got)
	}
	if h.e.heard[0].Client != "" || h.e.heard[1].Client != "page-1" {
		t.Errorf("clients: %q, %q", h.e.heard[0].Client, h.e.heard[1].Client)
	}
	for _, c := range []struct {
		delivery, client string
		want             int
	}{{"d1", "page-1", 200}, {"d1", "", 400}, {"d1", "a b", 400}, {"d1", strings.Repeat("x", 65), 400}, {"nope", "page-1", 404}} {
		if r := h.send(t, "POST", "/api/v1/deliveries/"+c.delivery+"/shown", `{}`, "X-Hob-Client", c.client); r.code != c.want {
			t.Errorf("%+v: %d %s", c, r.code, r.body)
		}
	}
	if got := shown(); len(got) != 2 || got[1] != "page-1 d1[] false" {
		t.Errorf("shown: %q", got)
	}
	if r := h.send(t, "POST", path, `{"text":"x"}`, "X-Hob-Client", "a b"); r.code != 400 {
		t.Errorf("a name with a blank: %d %s", r.code, r.body)
	}
}
