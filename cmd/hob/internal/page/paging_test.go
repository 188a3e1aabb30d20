package page

import (
	"fmt"
	"net/url"
	"testing"
)

// collectIDs reads a list page by page and returns the ids in their order.
func collectIDs(t *testing.T, h *daemonFixture, path string, limit int) (ids []string) {
	t.Helper()
	before := ""
	for range 100 {
		var rows []struct{ ID string }
		h.getJSON(fmt.Sprintf("%s?limit=%d&before=%s", path, limit, url.QueryEscape(before)), &rows)
		if len(rows) == 0 {
			return ids
		}
		for _, r := range rows {
			ids = append(ids, r.ID)
		}
		before = rows[len(rows)-1].ID
	}
	t.Fatalf("%s has no last page", path)
	return nil
}

// Lists that merge several tables lose and repeat nothing between their pages.
func TestPaging_HasNoGaps(t *testing.T) {
	h := openDaemon(t, offline)
	var made any
	for i := range 70 {
		h.postJSON("/api/v1/tools/create_task", map[string]any{"arguments": map[string]any{"title": fmt.Sprintf("chore %d", i)}}, &made)
	}
	for i := range 25 {
		h.postJSON("/api/v1/sessions/main/messages", map[string]any{"text": fmt.Sprintf("note: number %d", i)}, &made)
	}
	for path, atLeast := range map[string]int{"/api/v1/timeline": 90, "/api/v1/sessions/main/messages": 50} {
		all := collectIDs(t, h, path, 1000)
		if len(all) < atLeast {
			t.Errorf("%s has %d rows, want at least %d", path, len(all), atLeast)
		}
		for _, limit := range []int{7, 50} {
			got := collectIDs(t, h, path, limit)
			if len(got) != len(all) {
				t.Errorf("%s has %d rows in pages of %d, but %d in one page", path, len(got), limit, len(all))
				continue
			}
			for i := range got {
				if got[i] != all[i] {
					t.Errorf("%s in pages of %d: row %d is %s, want %s", path, limit, i, got[i], all[i])
					break
				}
			}
		}
	}
}
