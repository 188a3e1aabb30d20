package app

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/llm/llmtest"
)

// awaitGoal waits until there is exactly one goal and it satisfies fits.
func (h *daemonFixture) awaitGoal(fits func(g api.GoalDetails) bool) api.GoalDetails {
	h.t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	var list []api.GoalDetails
	for time.Now().Before(deadline) {
		_, body := h.callAPI(http.MethodGet, "/api/v1/goals?all=1", nil)
		failOnError(h.t, json.Unmarshal(body, &list))
		if len(list) == 1 && fits(list[0]) {
			_, body := h.callAPI(http.MethodGet, "/api/v1/goals?id="+list[0].ID, nil)
			failOnError(h.t, json.Unmarshal(body, &list))
			return list[0]
		}
		time.Sleep(20 * time.Millisecond)
	}
	h.t.Fatalf("the goal was not found: %+v", list)
	return api.GoalDetails{}
}

// A goal without a model follows its rule, reports its actions and ends when its condition is met.
func TestGoal_FollowsItsRule(t *testing.T) {
	h := openDaemon(t, "")
	h.askHob("add a task to pay the rent due " + time.Now().AddDate(0, 0, -10).Format(time.DateOnly))
	if got := h.askHob("set a goal: when a task is overdue then tell me, until no tasks are left"); !strings.Contains(got, "Added the goal") {
		t.Fatal(got)
	}
	h.awaitDelivery("notice", `About the goal "when a task is overdue .*": overdue: "pay the rent"`)
	g := h.awaitGoal(func(g api.GoalDetails) bool { return g.Reviewed == 1 })
	if g.Source != "chat" || g.Provenance != "owner" || g.Report != "home" || len(g.Reviews) != 1 || g.Reviews[0].By != "rule" {
		t.Errorf("%+v", g)
	}
	if n := strings.Count(h.askHob("what are my goals?"), "overdue"); n == 0 {
		t.Error("the goal is not listed")
	}
	_, why := h.callAPI(http.MethodGet, "/api/v1/why?id="+g.Reviews[0].Event, nil)
	if !strings.Contains(string(why), `"decision":"act"`) || !strings.Contains(string(why), `"how":"rule"`) {
		t.Errorf("%s", why)
	}
	h.askHob("I finished pay the rent")
	h.askHob("check the goal about overdue every 2 hours") // a changed goal is reviewed at once
	h.awaitDelivery("notice", `The goal .* has been reached: there is no open task`)
	h.awaitGoal(func(g api.GoalDetails) bool { return g.Status == "done" })
}

// The built-in brain carries out the actions that it supports, and reports the result.
func TestGoal_RunsActionsWithoutAModel(t *testing.T) {
	h := openDaemon(t, "")
	h.askHob("add a task to pay the rent due " + time.Now().AddDate(0, 0, -10).Format(time.DateOnly))
	h.askHob("set a goal: when a task is overdue then list my tasks")
	h.awaitDelivery("notice", `pay the rent \(overdue`)
	g := h.awaitGoal(func(g api.GoalDetails) bool { return len(g.Last) > 0 })
	if g.Last != "act" {
		t.Errorf("%+v", g)
	}
	if got := h.askHob("set a goal: be happy"); !strings.Contains(got, "I will store it, but I can work on it only after a model is set up") {
		t.Error(got)
	}
	h.awaitDelivery("notice", `I will keep the goal "be happy", but I can work on it only with a language model`)
}

// A model answer that is not a decision defers the goal, with the reason in the trace.
func TestGoal_InvalidAnswerOfAModel(t *testing.T) {
	model := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key, Otherwise: &llmtest.Answer{Text: "I would rather buy milk."}})
	h := openScripted(t, t.TempDir(), model.URL, listPlayWays()[0], "")
	code, body := h.callAPI(http.MethodPost, "/api/v1/goals", map[string]any{"description": "keep milk in the house", "priority": 2})
	if code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	g := h.awaitGoal(func(g api.GoalDetails) bool { return g.Reviewed == 1 })
	if g.Source != "api" || g.Last != "defer" || g.Status != "active" || len(g.Reviews) != 1 || !strings.Contains(g.Reviews[0].Error, "not the one requested JSON object") || g.Quiet != 1 {
		t.Errorf("%+v", g)
	}
	if n := len(model.Requests()); n != 1 {
		t.Errorf("the model was called %d times, want once", n)
	}
	if code, body := h.callAPI(http.MethodPost, "/api/v1/goals", map[string]any{"description": "x", "priority": 9}); code != http.StatusBadRequest {
		t.Errorf("%d %s", code, body)
	}
}

// The plan of the day is sent once, to the channel that the owner is using. A day without entries
// gets no plan, and the reason is recorded.
func TestPlan_IsSentOnceADay(t *testing.T) {
	h := openDaemon(t, "")
	waitUntil(t, "the first day is noted", func() bool {
		var n int
		return h.d.store.Read().QueryRow(`SELECT count(*) FROM plans`).Scan(&n) == nil && n == 1
	})
	morning := func(days int) time.Time {
		y, m, d := time.Now().UTC().Date()
		return time.Date(y, m, d+days, 7, 1, 0, 0, time.UTC)
	}
	plan := func(days int) {
		t.Helper()
		_, err := h.d.plan.Due(t.Context(), morning(days))
		failOnError(t, err)
	}
	plan(1)
	var events []struct{ ID, Source, State, Answer string }
	waitUntil(t, "the reason of the empty plan", func() bool {
		_, body := h.callAPI(http.MethodGet, "/api/v1/inbox?session=plan", nil)
		return json.Unmarshal(body, &events) == nil && len(events) == 1 && strings.Contains(events[0].Answer, "Nothing is planned today")
	})
	h.askHob("add a task to pay the rent due today")
	h.askHob("set a goal: be happy")
	h.awaitDelivery("notice", "I will keep the goal") // the goal has been reviewed
	plan(2)
	plan(2)
	h.awaitDelivery("notice", `Your plan for .*\n\nTasks\n- pay the rent`)
	_, body := h.callAPI(http.MethodGet, "/api/v1/deliveries", nil)
	if n := strings.Count(string(body), "Your plan for"); n != 1 {
		t.Errorf("the plan was sent %d times", n)
	}
}
