package web_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestSessions_SearchExportFork(t *testing.T) {
	h := newServerFixture(t, nil)
	for _, tc := range []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"search", http.MethodGet, "/api/v1/sessions/search?q=a&who=owner&since=2026-03-01&until=2026-03-01T12:00:00Z", "", 200, "["},
		{"an invalid day", http.MethodGet, "/api/v1/sessions/search?q=a&since=yesterday", "", 400, "2026-03-01"},
		{"export", http.MethodGet, "/api/v1/sessions/a%2Fb/export", "", 200, "markdown of a/b"},
		{"export as lines", http.MethodGet, "/api/v1/sessions/a/export?format=jsonl", "", 200, "jsonl of a"},
		{"export in an unknown format", http.MethodGet, "/api/v1/sessions/a/export?format=pdf", "", 400, "markdown or jsonl"},
		{"export with a slip", http.MethodGet, "/api/v1/sessions/a/export?from=pdf", "", 400, "from"},
		{"export of an unknown session", http.MethodGet, "/api/v1/sessions/nope/export", "", 404, "not found"},
		{"fork", http.MethodPost, "/api/v1/sessions/a/fork", `{"session":"b","at":"7"}`, 200, `"chat":"7"`},
		{"fork with a slip", http.MethodPost, "/api/v1/sessions/a/fork", `{"to":"b"}`, 400, "to"},
		{"fork of an unknown session", http.MethodPost, "/api/v1/sessions/nope/fork", `{}`, 404, "not found"},
		{"replay", http.MethodPost, "/api/v1/sessions/a/replay", `{"turn":"t"}`, 200, `"turn":"t"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := h.sendRequest(t, tc.method, tc.path, tc.body)
			if r.code != tc.status || !strings.Contains(r.body, tc.want) {
				t.Errorf("%d %s", r.code, r.body)
			}
		})
	}
}

func TestMemory_ListExplainMove(t *testing.T) {
	h := newServerFixture(t, nil)
	for _, tc := range []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"the list", http.MethodGet, "/api/v1/memory", "", 200, "facts 1000 false"},
		{"a search", http.MethodGet, "/api/v1/memory?q=key&kind=fact,%20note&speaker=owner&since=2026-03-01&meaning=1", "", 200, "Kinds:[fact note] Speaker:owner"},
		{"a search is short", http.MethodGet, "/api/v1/memory?q=key", "", 200, "Limit:10 "},
		{"with a slip", http.MethodGet, "/api/v1/memory?query=key", "", 400, "query"},
		{"an invalid day", http.MethodGet, "/api/v1/memory?q=a&since=yesterday", "", 400, "2026-03-01"},
		{"why", http.MethodGet, "/api/v1/memory/why?q=key", "", 200, `"query":"key"`},
		{"why of an unknown id", http.MethodGet, "/api/v1/memory/why", "", 400, "q is missing"},
		{"one", http.MethodGet, "/api/v1/memory/f%2F1", "", 200, "f/1"},
		{"an unknown id", http.MethodGet, "/api/v1/memory/nope", "", 404, "not found"},
		{"the graph", http.MethodGet, "/api/v1/memory/graph?q=Ana", "", 200, "Ana"},
		{"the numbers", http.MethodGet, "/api/v1/memory/stats", "", 200, "rows"},
		{"export", http.MethodGet, "/api/v1/memory/export", "", 200, "jsonl false"},
		{"export for people", http.MethodGet, "/api/v1/memory/export?format=markdown&conversations=1", "", 200, "markdown true"},
		{"export in an unknown format", http.MethodGet, "/api/v1/memory/export?format=pdf", "", 400, "jsonl or markdown"},
		{"export with a slip", http.MethodGet, "/api/v1/memory/export?from=pdf", "", 400, "from"},
		{"import", http.MethodPost, "/api/v1/memory/import", `{"path":"x","dry_run":true}`, 200, `"dry_run":true`},
		{"import without a path", http.MethodPost, "/api/v1/memory/import", `{}`, 400, "path"},
		{"import with a slip", http.MethodPost, "/api/v1/memory/import", `{"file":"x"}`, 400, "file"},
		{"import of a missing file", http.MethodPost, "/api/v1/memory/import", `{"path":"nope"}`, 404, "not found"},
		{"import that breaks", http.MethodPost, "/api/v1/memory/import", `{"path":"broken"}`, 200, `{"error":"it broke","code":"failed"}`},
		{"consolidate", http.MethodPost, "/api/v1/memory/consolidate", "{}", 200, `"merged":2`},
		{"flush", http.MethodPost, "/api/v1/memory/flush", `{"session":"cli"}`, 200, `"text":"said in cli"`},
		{"flush of all", http.MethodPost, "/api/v1/memory/flush", "{}", 200, `"turns":1`},
		{"compact", http.MethodPost, "/api/v1/manage/compact", `{"session":"cli"}`, 200, `"how":"digest"`},
		{"compact nothing", http.MethodPost, "/api/v1/manage/compact", "{}", 400, "session"},
		{"pin", http.MethodPost, "/api/v1/memory/pins/f1", `{"pinned":true}`, 200, `"pinned":true`},
		{"pin an unknown fact", http.MethodPost, "/api/v1/memory/pins/nope", `{"pinned":true}`, 404, "not found"},
		{"reindex", http.MethodPost, "/api/v1/memory/reindex", "", 200, "done"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := h.sendRequest(t, tc.method, tc.path, tc.body)
			if r.code != tc.status || !strings.Contains(r.body, tc.want) {
				t.Errorf("%d %s", r.code, r.body)
			}
		})
	}
}
