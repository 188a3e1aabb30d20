//go:build unix

package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/platform/text/memoryfile"
)

// TestMemoryFilesOverKills kills the daemon while the user edits MEMORY.md and while facts are
// stored: each fact of both sides is there once, the removed ones are not, and the file agrees with
// the memory. HOB_CRASH_MEMORY_KILLS (default 8; the report was made with 100).
func TestMemoryFilesOverKills(t *testing.T) {
	t.Parallel()
	kills := envNumber("HOB_CRASH_MEMORY_KILLS", 8)
	w := &consolidationFixture{daemonFixture: newFixture(t, uint64(envNumber("HOB_CRASH_SEED", 1))), want: map[string]string{}}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	path := filepath.Join(w.Home, "MEMORY.md")
	points := []string{"memorysync.write.before", "memorysync.write.after", "store.commit.before", "store.commit.after"}
	var want []string
	for n := range kills {
		stored, typed := fmt.Sprintf("shelf %d holds the blue box", n), fmt.Sprintf("drawer %d holds the red pen", n)
		w.Kill()
		point := fmt.Sprintf("%s:%d", points[n%len(points)], 1+w.rnd.IntN(4))
		if n%3 == 2 {
			point = ""
		}
		editFile(t, path, typed, n, &want)
		if !w.startDaemon(point) {
			w.points[points[n%len(points)]]++
			continue
		}
		req, err := json.Marshal(map[string]any{"arguments": map[string]any{"text": stored}})
		failOnError(t, err)
		if w.callRaw(ctx, http.MethodPost, "/api/v1/tools/remember", req) != nil {
			want = append(want, stored)
		} else {
			w.want[stored] = "" // stored or not
		}
		select {
		case <-w.Exited():
			w.points[points[n%len(points)]]++
		case <-time.After(time.Duration(w.rnd.IntN(1500)) * time.Millisecond):
		}
		if w.Kill() {
			w.random++
		}
	}
	w.daemonUp()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		problem := w.describeDifference(ctx, path, want)
		if problem == "" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(problem)
		}
	}
	w.Stop()
	t.Logf("%d kills: at failpoints %v, at random instants %d; %d facts", kills, w.points, w.random, len(want))
}

// editFile adds a line to the file, and in every third round removes the line of the last drawer.
func editFile(t *testing.T, path, typed string, n int, want *[]string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if !os.IsNotExist(err) {
		failOnError(t, err)
	}
	lines := strings.Split(string(b), "\n")
	if n%3 == 1 {
		gone := fmt.Sprintf("drawer %d holds the red pen", n-1)
		if i := slices.Index(lines, "- "+gone); i >= 0 {
			lines = slices.Delete(lines, i, i+1)
			*want = slices.DeleteFunc(*want, func(s string) bool { return s == gone })
		}
	}
	lines = slices.Insert(lines, 0, "- "+typed)
	*want = append(*want, typed)
	failOnError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600))
}

// describeDifference says how the memory or the file differs from what is wanted, or "".
func (w *consolidationFixture) describeDifference(ctx context.Context, path string, want []string) string {
	w.t.Helper()
	var facts, lines []string
	for _, f := range w.exportFacts(ctx) {
		if _, open := w.want[f.Text]; f.RetiredAt == "" && (!open || slices.Contains(want, f.Text)) {
			facts = append(facts, f.Text)
		}
	}
	text, err := memoryfile.Read(path)
	failOnError(w.t, err)
	for _, it := range memoryfile.Parse(text).Items {
		if _, open := w.want[it.Text]; !open {
			lines = append(lines, it.Text)
		}
	}
	want = slices.Sorted(slices.Values(want))
	slices.Sort(facts)
	slices.Sort(lines)
	if !slices.Equal(facts, want) {
		return fmt.Sprintf("the facts are %q, want %q", facts, want)
	}
	if !slices.Equal(lines, want) {
		return fmt.Sprintf("the lines are %q, want %q\n%s", lines, want, text)
	}
	return ""
}
