package web_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestSessionsAreSearchedExportedAndForked(t *testing.T) {
	h := newHouse(t, nil)
	for _, tc := range []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"search", http.MethodGet, "/api/v1/sessions/search?q=a&who=owner&since=2026-03-01&until=2026-03-01T12:00:00Z", "", 200, "["},
		{"a day that is none", http.MethodGet, "/api/v1/sessions/search?q=a&since=yesterday", "", 400, "2026-03-01"},
		{"export", http.MethodGet, "/api/v1/sessions/a%2Fb/export", "", 200, "markdown of a/b"},
		{"export as lines", http.MethodGet, "/api/v1/sessions/a/export?format=jsonl", "", 200, "jsonl of a"},
		{"export as what is not", http.MethodGet, "/api/v1/sessions/a/export?format=pdf", "", 400, "markdown or jsonl"},
		{"export with a slip", http.MethodGet, "/api/v1/sessions/a/export?from=pdf", "", 400, "from"},
		{"export of nothing", http.MethodGet, "/api/v1/sessions/nope/export", "", 404, "not found"},
		{"fork", http.MethodPost, "/api/v1/sessions/a/fork", `{"session":"b","at":"7"}`, 200, `"chat":"7"`},
		{"fork with a slip", http.MethodPost, "/api/v1/sessions/a/fork", `{"to":"b"}`, 400, "to"},
		{"fork of nothing", http.MethodPost, "/api/v1/sessions/nope/fork", `{}`, 404, "not found"},
		{"replay", http.MethodPost, "/api/v1/sessions/a/replay", `{"turn":"t"}`, 200, `"turn":"t"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := h.send(t, tc.method, tc.path, tc.body)
			if r.code != tc.status || !strings.Contains(r.body, tc.want) {
				t.Errorf("%d %s", r.code, r.body)
			}
		})
	}
}
