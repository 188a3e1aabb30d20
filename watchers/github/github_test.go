package github_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/platform/net/safehttp/safehttptest"
	"hob/watchers"
	"hob/watchers/github"
	"hob/watchers/watcherstest"
)

const issuesOf = "/repos/o/r/issues"

func TestConformance(t *testing.T) {
	h := newHub()
	net := safehttptest.New(t, h)
	pathOf := func(config json.RawMessage) string {
		var c struct {
			Repo string `json:"repo"`
		}
		_ = json.Unmarshal(config, &c)
		return "/repos/" + c.Repo + "/issues"
	}
	repos := 0
	watcherstest.Run(t, watcherstest.Suite{
		New: func() watchers.Driver { return github.New() },
		Config: func(*testing.T) json.RawMessage {
			repos++
			config := json.RawMessage(fmt.Sprintf(`{"repo":"o/r%d","what":["issues"],"base_url":"https://git.example.com","token":"env:TOKEN"}`, repos))
			h.withLock(func() { h.lists[pathOf(config)] = []map[string]any{} })
			return config
		},
		Bad: []string{
			`{}`, `{"repo":"x"}`, `{"repo":"a/b/c"}`, `{"repo":"a/.."}`, `{"repo":"o/r","what":["gossip"]}`, `{"repo":"o/r","token":"ghp_abcdefghijklmnop"}`,
			`{"repo":"o/r","base_url":"ftp://x"}`, `{"repo":"o/r","base_url":"http://git.example.com","token":"env:T"}`, `{"repo":"o/r","base_url":"https://10.0.0.1"}`,
			`{"repo":"o/r","base_url":"https://user:pw@git.example.com"}`,
		},
		Provoke: func(_ *testing.T, config json.RawMessage, n int) {
			now := time.Now().Add(time.Millisecond)
			h.putEntry(pathOf(config), "updated_at", newIssue(n, fmt.Sprint("thing ", n), now, now))
		},
		Polled: true, Network: net.Client(t), Secret: func(string) (string, error) { return "s3cret", nil },
		Fail: func(_ *testing.T, on bool) {
			h.withLock(func() {
				if h.fail = 0; on {
					h.fail = http.StatusBadGateway
				}
			})
		},
	})
}

// repositoryPoller polls a repository, each time with a new driver.
type repositoryPoller struct {
	t     *testing.T
	h     *fakeGitHub
	net   *safehttptest.Internet
	more  string
	p     watchers.Progress
	known map[string]bool
}

func newWatch(t *testing.T, h *fakeGitHub, more string) *repositoryPoller {
	return &repositoryPoller{t: t, h: h, net: safehttptest.New(t, h), more: more, p: watchers.Progress{First: true, Begun: time.Now()}, known: map[string]bool{}}
}

func (w *repositoryPoller) newPolled() watchers.Polled {
	w.t.Helper()
	made, err := github.New().New(watchers.Spec{Config: json.RawMessage(`{"repo":"o/r","base_url":"https://git.example.com"` + w.more + `}`)}, watchers.Deps{
		Network: w.net.Client(w.t), Secret: func(ref string) (string, error) {
			return map[string]string{"env:GOOD": "s3cret", "env:OLD": "old"}[ref], nil
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return made.(watchers.Polled)
}

func (w *repositoryPoller) pollOnce() (said []string, err error) {
	w.t.Helper()
	found, err := w.newPolled().Poll(w.t.Context(), w.p)
	if err != nil {
		return nil, err
	}
	for _, s := range found.Signals {
		if !w.known[s.Key] && (!w.p.First || s.At.After(w.p.Begun)) {
			said = append(said, s.Text)
		}
		w.known[s.Key] = true
	}
	w.p.First, w.p.Cursor = false, found.Cursor
	return said, nil
}

func (w *repositoryPoller) expectSignals(want ...string) {
	w.t.Helper()
	got, err := w.pollOnce()
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		w.t.Error(diff, err)
	}
}

func TestIssuesAndPulls(t *testing.T) {
	h := newHub()
	old := time.Now().AddDate(-1, 0, 0)
	for n := range 150 {
		h.putEntry(issuesOf, "updated_at", newIssue(n+1, "old", old, old.Add(time.Duration(n)*time.Minute)))
	}
	h.lists["/repos/o/r/pulls"] = nil
	w := newWatch(t, h, `,"what":["issues","pulls"]`)
	w.expectSignals()
	w.expectSignals()
	if h.same != 2 {
		t.Errorf("%d requests with validators", h.same)
	}
	now := time.Now().Add(time.Second)
	h.putEntry(issuesOf, "updated_at", newIssue(201, "It\nburns", now, now))
	pull := newIssue(202, "Water", now, now)
	h.putEntry("/repos/o/r/pulls", "updated_at", pull)
	asIssue := newIssue(202, "Water", now, now)
	asIssue["pull_request"] = map[string]any{"url": "x"}
	h.putEntry(issuesOf, "updated_at", asIssue)
	commented := newIssue(3, "old", old, now) // a new comment on an old issue
	h.putEntry(issuesOf, "updated_at", commented)
	w.expectSignals("o/r: issue opened #201: It burns (ada)", "o/r: pull request opened #202: Water (ada)")
	later := now.Add(time.Second)
	closed := newIssue(201, "It burns", now, later)
	closed["closed_at"] = formatTime(later)
	h.putEntry(issuesOf, "updated_at", closed)
	merged := newIssue(202, "Water", now, later)
	merged["closed_at"], merged["merged_at"] = formatTime(later), formatTime(later)
	h.putEntry("/repos/o/r/pulls", "updated_at", merged)
	w.expectSignals("o/r: issue closed #201: It burns (ada)", "o/r: pull request merged #202: Water (ada)")
	w.expectSignals()
}

// A burst over several pages fires completely.
func TestPages(t *testing.T) {
	h := newHub()
	h.perMax = 10
	old := time.Now().AddDate(0, 0, -1)
	h.putEntry(issuesOf, "updated_at", newIssue(1, "old", old, old))
	w := newWatch(t, h, `,"what":["issues"]`)
	w.expectSignals()
	now := time.Now()
	for n := range 75 {
		at := now.Add(time.Duration(n+1) * time.Millisecond)
		h.putEntry(issuesOf, "updated_at", newIssue(100+n, fmt.Sprint(n), at, at))
	}
	got, err := w.pollOnce()
	if err != nil || len(got) != 75 {
		t.Errorf("%d of 75 fired, %v", len(got), err)
	}
	h.withLock(func() { h.link = "https://evil.example/steal" })
	h.putEntry(issuesOf, "updated_at", newIssue(999, "x", now.Add(time.Second), now.Add(time.Second)))
	w.expectSignals("o/r: issue opened #999: x (ada)")
	for _, r := range w.net.Heard() {
		if r.Host != "git.example.com" {
			t.Errorf("a request went to %s", r.Host)
		}
	}
}

func TestReleasesRunsEvents(t *testing.T) {
	h := newHub()
	for _, p := range []string{"releases", "actions/runs", "events"} {
		h.lists["/repos/o/r/"+p] = nil
	}
	w := newWatch(t, h, `,"what":["releases","failures","events"],"branch":"main"`)
	w.expectSignals()
	now := time.Now().Add(time.Second)
	h.putEntry("/repos/o/r/releases", "created_at", map[string]any{"id": 1, "tag_name": "v2", "name": "Two", "created_at": formatTime(now), "published_at": formatTime(now), "author": map[string]any{"login": "ada"}})
	h.putEntry("/repos/o/r/releases", "created_at", map[string]any{"id": 2, "tag_name": "v3", "created_at": formatTime(now), "draft": true})
	h.putEntry("/repos/o/r/actions/runs", "created_at", newRun(7, "success", now))
	h.putEntry("/repos/o/r/actions/runs", "created_at", newRun(8, "failure", now))
	h.putEntry("/repos/o/r/events", "created_at", map[string]any{
		"id": "55", "type": "IssueCommentEvent", "actor": map[string]any{"login": "eve"}, "created_at": formatTime(now),
		"payload": map[string]any{"action": "created", "issue": map[string]any{"number": 9, "title": "A question"}},
	})
	w.expectSignals("o/r: release: v2 Two (ada)", "o/r: run failed: CI on main: fix (bob)", "o/r: issue comment created #9: A question (eve)")
	again := newRun(8, "failure", now.Add(time.Second))
	again["run_attempt"] = 2
	h.putEntry("/repos/o/r/actions/runs", "created_at", again)
	w.expectSignals("o/r: run failed: CI on main: fix (bob)")
	if !strings.Contains(strings.Join(h.asked, " "), "branch=main") {
		t.Error("no request names the branch")
	}
}

// A long run fires even if newer runs have moved it off the first page.
func TestPoll_RunThatEndsLate(t *testing.T) {
	const path = "/repos/o/r/actions/runs"
	h := newHub()
	h.perMax = 2
	begun, now := time.Now().Add(-3*time.Hour), time.Now()
	slow := func(id int, status, conclusion string, ended time.Time) {
		r := newRun(id, conclusion, begun)
		r["status"], r["updated_at"] = status, formatTime(ended)
		h.putEntry(path, "created_at", r)
	}
	slow(1, "in_progress", "", begun)
	slow(2, "queued", "", begun)
	w := newWatch(t, h, `,"what":["runs"]`)
	w.expectSignals()
	for id := range 4 {
		h.putEntry(path, "created_at", newRun(10+id, "success", now.Add(time.Second)))
	}
	if said, err := w.pollOnce(); err != nil || len(said) != 4 {
		t.Fatal(said, err)
	}
	slow(1, "completed", "failure", now.Add(2*time.Second))
	w.expectSignals("o/r: run failed: CI on main: fix (bob)")
	h.putEntry(path, "created_at", newRun(20, "success", now.Add(2*time.Hour)))
	w.expectSignals("o/r: run success: CI on main: fix (bob)")
	slow(2, "completed", "success", now.Add(3*time.Hour))
	w.expectSignals("o/r: run success: CI on main: fix (bob)")
	h.withLock(func() { h.asked = nil })
	w.expectSignals()
	if len(h.asked) != 1 {
		t.Errorf("polled %v after all watchers ended", h.asked)
	}
}

// A repository with more events than can be read still makes progress.
func TestPoll_TooManyEvents(t *testing.T) {
	h := newHub()
	h.perMax = 1
	old := time.Now().AddDate(0, 0, -1)
	h.putEntry(issuesOf, "updated_at", newIssue(1, "old", old, old))
	w := newWatch(t, h, `,"what":["issues"]`)
	w.expectSignals()
	for n := range 40 {
		at := time.Now().Add(time.Duration(n+1) * time.Second)
		h.putEntry(issuesOf, "updated_at", newIssue(100+n, "x", at, at))
	}
	said, err := w.pollOnce()
	if err != nil || len(said) != 31 || !strings.Contains(said[30], "read only the newest issues") {
		t.Errorf("%d, %q, %v", len(said), said, err)
	}
	w.expectSignals()
}

// All events before the first poll fire, regardless of their number.
func TestPoll_ManyEventsBeforeTheFirstPoll(t *testing.T) {
	h := newHub()
	h.perMax = 10
	w := newWatch(t, h, `,"what":["issues"]`)
	old := w.p.Begun.AddDate(0, 0, -1)
	h.putEntry(issuesOf, "updated_at", newIssue(1, "old", old, old))
	for n := range 35 {
		at := w.p.Begun.Add(time.Duration(n+1) * time.Millisecond)
		h.putEntry(issuesOf, "updated_at", newIssue(100+n, "x", at, at))
	}
	if said, err := w.pollOnce(); err != nil || len(said) != 35 {
		t.Errorf("%d of 35 fired, %v", len(said), err)
	}
}

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		name   string
		set    func(*fakeGitHub)
		config string
		later  time.Duration // approximate delay
		want   string
	}{
		{"primary", func(h *fakeGitHub) { h.limit = 0 }, "", time.Hour, "a token raises the limit"},
		{"secondary", func(h *fakeGitHub) { h.retry = "90" }, "", 90 * time.Second, "requests a lower request rate"},
		{"a wrong token", func(h *fakeGitHub) { h.token = "s3cret" }, `,"token":"env:OLD"`, 0, "rejected the token"},
		{"a private repository without a token", func(h *fakeGitHub) { h.token = "s3cret" }, "", 0, "for a private one, configure a token"},
		{"a secret that does not exist", func(*fakeGitHub) {}, `,"token":"env:NONE"`, 0, "is empty or invalid"},
		{"no such repository", func(h *fakeGitHub) { clear(h.lists) }, `,"token":"env:GOOD"`, 0, "that the token may read"},
		{"an outage", func(h *fakeGitHub) { h.fail = 502 }, "", 0, "status 502"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHub()
			h.lists[issuesOf] = nil
			c.set(h)
			_, err := newWatch(t, h, `,"what":["issues"]`+c.config).pollOnce()
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") {
				t.Fatalf("%v", err)
			}
			later, ok := errors.AsType[*watchers.LaterError](err)
			if ok != (c.later > 0) {
				t.Fatalf("%v", err)
			}
			if ok {
				if d := time.Until(later.Until); d < c.later-10*time.Second || d > c.later+10*time.Second {
					t.Errorf("waits %s", d)
				}
			}
		})
	}
}

func TestToken(t *testing.T) {
	h := newHub()
	h.token, h.lists[issuesOf] = "s3cret", nil
	w := newWatch(t, h, `,"what":["issues"],"token":"env:GOOD"`)
	w.expectSignals()
	reach, err := github.New().Reach(json.RawMessage(`{"repo":"o/r","token":"env:GOOD"}`))
	if err != nil || len(reach.Secrets) != 1 || len(reach.URLs) != 3 || !strings.HasPrefix(reach.URLs[0], "https://api.github.com/repos/o/r/issues") {
		t.Errorf("%+v, %v", reach, err)
	}
}

// GitHub's clock determines which items are new, so a wrong local clock has no effect.
func TestClocks(t *testing.T) {
	for _, skew := range []time.Duration{-time.Hour, time.Hour} {
		h := newHub()
		h.skew, h.lists[issuesOf] = skew, nil
		there := func(d time.Duration) time.Time { return time.Now().Add(skew + d) }
		h.putEntry(issuesOf, "updated_at", newIssue(1, "before", there(-time.Minute), there(-time.Minute)))
		w := newWatch(t, h, `,"what":["issues"]`)
		_, _ = w.pollOnce()
		h.putEntry(issuesOf, "updated_at", newIssue(2, "after", there(2*time.Second), there(2*time.Second)))
		w.expectSignals("o/r: issue opened #2: after (ada)")
	}
}

func TestPast(t *testing.T) {
	h := newHub()
	now := time.Now()
	for n, ago := range []time.Duration{time.Hour, 48 * time.Hour, 30 * 24 * time.Hour} {
		h.putEntry(issuesOf, "updated_at", newIssue(n, fmt.Sprint("ago ", ago), now.Add(-ago), now.Add(-ago)))
	}
	past, err := newWatch(t, h, `,"what":["issues"]`).newPolled().(watchers.Historian).Past(t.Context(), now.AddDate(0, 0, -7))
	if err != nil || len(past) != 2 || !strings.Contains(past[0].Text, "48h") {
		t.Errorf("%v, %v", past, err)
	}
}

func TestDescribe(t *testing.T) {
	for config, want := range map[string]string{
		`{"repo":"o/r"}`: "issues, pull requests, releases of o/r",
		`{"repo":"https://github.com/o/r.git","what":["failures"],"branch":"main"}`:   "failed workflow runs of o/r on the branch main",
		`{"repo":"https://git.example.com/o/r/issues","what":"issues","words":["x"]}`: `issues of o/r on git.example.com with "x"`,
		`{"repo":"o"}`: "an unreadable repository",
	} {
		if got := github.New().DescribeConfig(json.RawMessage(config)); got != want {
			t.Errorf("%s: %q", config, got)
		}
	}
}
