package github_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// fakeGitHub implements the used part of GitHub's API: lists by repository with ETags, pages with
// Link, both limits, tokens, the interval of events.
type fakeGitHub struct {
	mu     sync.Mutex
	lists  map[string][]map[string]any // by path, newest first
	token  string
	fail   int
	limit  int // remaining requests; -1 for no limit
	retry  string
	skew   time.Duration
	link   string // address of the next page
	asked  []string
	same   int
	tokens []string
	perMax int
}

func newHub() *fakeGitHub {
	return &fakeGitHub{lists: map[string][]map[string]any{}, limit: -1, perMax: 100}
}

func (h *fakeGitHub) withLock(fn func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fn()
}

// putEntry adds or replaces an entry and keeps the list sorted as GitHub does.
func (h *fakeGitHub) putEntry(path string, by string, e map[string]any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := fmt.Sprint(e["id"], e["number"])
	list := slices.DeleteFunc(h.lists[path], func(o map[string]any) bool { return fmt.Sprint(o["id"], o["number"]) == id })
	list = append(list, e)
	slices.SortStableFunc(list, func(a, b map[string]any) int { return strings.Compare(fmt.Sprint(b[by]), fmt.Sprint(a[by])) })
	h.lists[path] = list
}

func (h *fakeGitHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, r.URL.String())
	h.tokens = append(h.tokens, r.Header.Get("Authorization"))
	w.Header().Set("Date", time.Now().Add(h.skew).UTC().Format(http.TimeFormat))
	refuse := func(status int, message string) {
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"message":%q}`, message)
	}
	switch {
	case h.fail != 0:
		refuse(h.fail, "Server Error")
		return
	case h.retry != "":
		w.Header().Set("Retry-After", h.retry)
		refuse(http.StatusForbidden, "You have exceeded a secondary rate limit.")
		return
	case h.limit == 0:
		w.Header().Set("X-RateLimit-Remaining", "0")
		w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10))
		refuse(http.StatusForbidden, "API rate limit exceeded for 1.2.3.4.")
		return
	case h.token != "" && r.Header.Get("Authorization") == "":
		refuse(http.StatusNotFound, "Not Found")
		return
	case h.token != "" && r.Header.Get("Authorization") != "Bearer "+h.token:
		refuse(http.StatusUnauthorized, "Bad credentials")
		return
	}
	path := strings.TrimPrefix(r.URL.Path, "/api/v3")
	if of, id, one := strings.Cut(path, "/actions/runs/"); one {
		for _, e := range h.lists[of+"/actions/runs"] {
			if fmt.Sprint(e["id"]) == id {
				text, _ := json.Marshal(e)
				_, _ = w.Write(text)
				return
			}
		}
	}
	list, ok := h.lists[path]
	if !ok {
		refuse(http.StatusNotFound, "Not Found")
		return
	}
	q := r.URL.Query()
	per, _ := strconv.Atoi(q.Get("per_page"))
	page, _ := strconv.Atoi(q.Get("page"))
	per, page = min(per, h.perMax), max(page, 1)
	part := list[min((page-1)*per, len(list)):min(page*per, len(list))]
	var body any = part
	if part == nil {
		body = []map[string]any{}
	}
	if strings.HasSuffix(r.URL.Path, "/actions/runs") {
		body = map[string]any{"total_count": len(list), "workflow_runs": part}
	}
	text, _ := json.Marshal(body)
	tag := fmt.Sprintf(`W/"%x"`, sha256.Sum256(text))
	w.Header().Set("ETag", tag)
	if strings.HasSuffix(r.URL.Path, "/events") {
		w.Header().Set("X-Poll-Interval", "60")
	}
	if r.Header.Get("If-None-Match") == tag {
		h.same++
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if h.limit > 0 {
		h.limit--
	}
	if page*per < len(list) {
		q.Set("page", strconv.Itoa(page+1))
		next := (&url.URL{Path: r.URL.Path, RawQuery: q.Encode()}).String()
		if h.link != "" {
			next = h.link
		} else {
			next = "https://" + r.Host + next
		}
		w.Header().Set("Link", fmt.Sprintf(`<https://%s/first>; rel="first", <%s>; rel="next"`, r.Host, next))
	}
	_, _ = w.Write(text)
}

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

func newIssue(n int, title string, created, updated time.Time) map[string]any {
	return map[string]any{
		"number": n, "title": title, "user": map[string]any{"login": "ada"}, "created_at": formatTime(created), "updated_at": formatTime(updated),
		"html_url": fmt.Sprintf("https://github.com/o/r/issues/%d", n), "labels": []map[string]any{{"name": "bug"}},
	}
}

func newRun(id int, conclusion string, at time.Time) map[string]any {
	return map[string]any{
		"id": id, "run_attempt": 1, "name": "CI", "display_title": "fix", "head_branch": "main", "status": "completed", "conclusion": conclusion,
		"created_at": formatTime(at), "updated_at": formatTime(at), "actor": map[string]any{"login": "bob"},
	}
}
