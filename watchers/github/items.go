package github

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/text/readability"
	"hob/watchers"
)

// item is one event. Its JSON form is the payload of the signal.
type item struct {
	key    string
	what   string
	at     time.Time
	failed bool
	run    int64 // id of a workflow run
	open   bool  // the run has not ended, so it does not fire yet
	first  bool  // the item is on the first page

	Kind   string   `json:"kind"`             // "issue opened", "run failed"
	Number int      `json:"number,omitempty"` // number of an issue or pull request
	Title  string   `json:"title"`
	Body   string   `json:"body,omitempty"`
	By     string   `json:"by,omitempty"`
	URL    string   `json:"url,omitempty"`
	Labels []string `json:"labels,omitempty"`
	At     string   `json:"at"`
	Repo   string   `json:"repo,omitempty"`
}

func (it item) itemSignal(repo string) watchers.Signal {
	it.Repo, it.At = repo, it.at.UTC().Format(time.RFC3339)
	say := repo + ": " + it.Kind
	if it.Number > 0 {
		say += " #" + strconv.Itoa(it.Number)
	}
	if it.Title != "" {
		say += ": " + it.Title
	}
	if it.By != "" {
		say += " (" + it.By + ")"
	}
	payload, err := json.Marshal(it)
	if err != nil { // a programming error: all values are strings
		panic(fmt.Sprintf("github: payload: %v", err))
	}
	return watchers.Signal{Key: it.key, Text: say, Payload: payload, Source: provenance.Outside, At: it.at}
}

// parseList parses a page. It returns the items and the oldest and newest value of the sort key,
// which is a time.
func parseList(what string, body []byte) (items []item, oldest, newest time.Time, err error) {
	var list []json.RawMessage
	if what == runs {
		var page struct {
			Runs []json.RawMessage `json:"workflow_runs"`
		}
		err = json.Unmarshal(body, &page)
		list = page.Runs
	} else {
		err = json.Unmarshal(body, &list)
	}
	if err != nil {
		return nil, oldest, newest, errors.New("the response is not the expected list; check that base_url is the address of the API")
	}
	read := map[string]func(json.RawMessage) ([]item, time.Time, error){issues: readIssue, pulls: readPull, releases: readRelease, runs: readRun, events: readEvent}[what]
	for _, raw := range list {
		found, at, err := read(raw)
		if err != nil {
			return nil, oldest, newest, fmt.Errorf("parse one of the %s: %w", what, err)
		}
		if at.IsZero() {
			continue
		}
		if oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
		if at.After(newest) {
			newest = at
		}
		for i := range found {
			found[i].what = what
		}
		items = append(items, found...)
	}
	return items, oldest, newest, nil
}

type user struct {
	Login string `json:"login"`
}

// issueFields holds the fields that issues and pull requests share.
type issueFields struct {
	Number  int        `json:"number"`
	Title   string     `json:"title"`
	Body    string     `json:"body"`
	URL     string     `json:"html_url"`
	User    user       `json:"user"`
	Created time.Time  `json:"created_at"`
	Updated time.Time  `json:"updated_at"`
	Closed  *time.Time `json:"closed_at"`
	Merged  *time.Time `json:"merged_at"`
	Draft   bool       `json:"draft"`
	Labels  []struct {
		Name string `json:"name"`
	} `json:"labels"`
	Pull json.RawMessage `json:"pull_request"`
}

func (t issueFields) newItem(kind, key string, at time.Time) item {
	it := item{
		key: key, at: at, Kind: kind, Number: t.Number, Title: oneLine(t.Title, 300), Body: readability.CutRunes(readability.Tidy(t.Body), 2000),
		By: oneLine(t.User.Login, 60), URL: oneLine(t.URL, 500),
	}
	for _, l := range t.Labels[:min(len(t.Labels), 20)] {
		it.Labels = append(it.Labels, oneLine(l.Name, 60))
	}
	return it
}

func readIssue(raw json.RawMessage) ([]item, time.Time, error) {
	var t issueFields
	if err := json.Unmarshal(raw, &t); err != nil {
		return nil, time.Time{}, err
	}
	if len(t.Pull) > 0 && string(t.Pull) != "null" { // GitHub lists each pull request as an issue, too
		return nil, t.Updated, nil
	}
	id := fmt.Sprintf("issue/%d", t.Number)
	out := []item{t.newItem("issue opened", id, t.Created)}
	if t.Closed != nil {
		out = append(out, t.newItem("issue closed", id+"/closed@"+t.Closed.UTC().Format(time.RFC3339), *t.Closed))
	}
	return out, t.Updated, nil
}

func readPull(raw json.RawMessage) ([]item, time.Time, error) {
	var t issueFields
	if err := json.Unmarshal(raw, &t); err != nil {
		return nil, time.Time{}, err
	}
	id := fmt.Sprintf("pull/%d", t.Number)
	kind := "pull request opened"
	if t.Draft {
		kind = "draft of a pull request opened"
	}
	out := []item{t.newItem(kind, id, t.Created)}
	switch {
	case t.Merged != nil:
		out = append(out, t.newItem("pull request merged", id+"/merged", *t.Merged))
	case t.Closed != nil:
		out = append(out, t.newItem("pull request closed", id+"/closed@"+t.Closed.UTC().Format(time.RFC3339), *t.Closed))
	}
	return out, t.Updated, nil
}

func readRelease(raw json.RawMessage) ([]item, time.Time, error) {
	var r struct {
		ID        int64      `json:"id"`
		Name      string     `json:"name"`
		Tag       string     `json:"tag_name"`
		Body      string     `json:"body"`
		URL       string     `json:"html_url"`
		Author    user       `json:"author"`
		Draft     bool       `json:"draft"`
		Pre       bool       `json:"prerelease"`
		Created   time.Time  `json:"created_at"`
		Published *time.Time `json:"published_at"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, time.Time{}, err
	}
	if r.Draft || r.Published == nil {
		return nil, r.Created, nil
	}
	kind := "release"
	if r.Pre {
		kind = "pre-release"
	}
	title := oneLine(r.Tag, 100)
	if n := oneLine(r.Name, 200); n != "" && n != title {
		title += " " + n
	}
	return []item{{
		key: fmt.Sprintf("release/%d", r.ID), at: *r.Published, Kind: kind, Title: title, Body: readability.CutRunes(readability.Tidy(r.Body), 2000),
		By: oneLine(r.Author.Login, 60), URL: oneLine(r.URL, 500),
	}}, *r.Published, nil
}

func readRun(raw json.RawMessage) ([]item, time.Time, error) {
	var r struct {
		ID         int64     `json:"id"`
		Attempt    int       `json:"run_attempt"`
		Name       string    `json:"name"`
		Title      string    `json:"display_title"`
		Branch     string    `json:"head_branch"`
		Status     string    `json:"status"`
		Conclusion string    `json:"conclusion"`
		URL        string    `json:"html_url"`
		Actor      user      `json:"actor"`
		Created    time.Time `json:"created_at"`
		Updated    time.Time `json:"updated_at"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, time.Time{}, err
	}
	if r.Status != "completed" {
		return []item{{run: r.ID, open: true}}, r.Created, nil
	}
	failed := r.Conclusion == "failure" || r.Conclusion == "timed_out" || r.Conclusion == "startup_failure"
	kind := "run " + oneLine(strings.ReplaceAll(r.Conclusion, "_", " "), 40)
	if failed {
		kind = "run failed"
	}
	return []item{{
		key: fmt.Sprintf("run/%d/%d", r.ID, r.Attempt), run: r.ID, at: r.Updated, failed: failed, Kind: kind,
		Title: oneLine(r.Name+" on "+r.Branch+": "+r.Title, 300), By: oneLine(r.Actor.Login, 60), URL: oneLine(r.URL, 500),
	}}, r.Created, nil
}

func readEvent(raw json.RawMessage) ([]item, time.Time, error) {
	var e struct {
		ID      string    `json:"id"`
		Type    string    `json:"type"`
		Actor   user      `json:"actor"`
		Created time.Time `json:"created_at"`
		Payload struct {
			Action string      `json:"action"`
			Ref    string      `json:"ref"`
			Type   string      `json:"ref_type"`
			Size   int         `json:"size"`
			Issue  issueFields `json:"issue"`
			Pull   issueFields `json:"pull_request"`
			Number int         `json:"number"`
		} `json:"payload"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, time.Time{}, err
	}
	if e.ID == "" {
		return nil, time.Time{}, errors.New("an event without an id")
	}
	p := e.Payload
	t := p.Issue
	if p.Pull.Number > 0 {
		t = p.Pull
	}
	it := t.newItem(eventWords(oneLine(e.Type, 60), oneLine(p.Action, 40), oneLine(p.Type, 40)), "event/"+oneLine(e.ID, 40), e.Created)
	if it.By = oneLine(e.Actor.Login, 60); it.Number == 0 {
		it.Number = p.Number
	}
	if it.Title == "" {
		it.Title = oneLine(strings.TrimPrefix(p.Ref, "refs/heads/"), 200)
	}
	return []item{it}, e.Created, nil
}

// eventWords converts a kind and an action, such as "IssueCommentEvent" and "created", to words:
// "issue comment created".
func eventWords(kind, action, of string) string {
	var b strings.Builder
	for i, r := range strings.TrimSuffix(kind, "Event") {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	for _, more := range []string{of, action} {
		if more != "" {
			b.WriteString(" " + more)
		}
	}
	return strings.ToLower(b.String())
}

func oneLine(s string, n int) string { return readability.CutRunes(readability.Squeeze(s), n) }
