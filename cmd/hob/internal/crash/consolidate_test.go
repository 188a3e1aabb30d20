//go:build unix

package crash

import (
	"bufio"
	"bytes"
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
)

// consolidatePoints are the instants of a consolidation at which the daemon is killed, with the
// range of hits.
var consolidatePoints = []struct {
	name string
	upTo int
}{
	{"consolidate.batch", 3},
	{"store.commit.before", 8},
	{"store.commit.after", 8},
}

// exportedFact is a fact in an export.
type exportedFact struct {
	ID         string `json:"id"`
	Text       string `json:"text"`
	Kind       string `json:"kind,omitempty"`
	Provenance string `json:"provenance"`
	CreatedAt  string `json:"created_at"`
	ValidUntil string `json:"valid_until,omitempty"`
	RetiredAt  string `json:"retired_at,omitempty"`
	RetiredBy  string `json:"retired_by,omitempty"`
}

// TestConsolidationOverKills kills the daemon while it consolidates the memory, and while the owner
// undoes that: no fact is lost, none is doubled, each pair of duplicates keeps one valid fact, and
// the undo restores everything. HOB_CRASH_CONSOLIDATE_KILLS (default 8; the report was made with
// 100).
func TestConsolidationOverKills(t *testing.T) {
	t.Parallel()
	kills := envNumber("HOB_CRASH_CONSOLIDATE_KILLS", 8)
	w := &consolidationFixture{daemonFixture: newFixture(t, uint64(envNumber("HOB_CRASH_SEED", 1))), want: map[string]string{}}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	for n := range kills {
		w.daemonUp()
		w.importFacts(ctx, n)
		w.killDuring(ctx, n, w.tidyMemory)
	}
	w.daemonUp()
	w.tidyMemory(ctx)
	after := w.exportFacts(ctx)
	w.compareTexts(after)
	for n := range kills * pairsPerKill {
		w.checkPair(after, n)
	}
	for n := range kills/2 + 1 {
		w.killDuring(ctx, n, w.undoSome)
	}
	w.daemonUp()
	for w.undoSome(ctx) {
	}
	w.checkAllValid(ctx, "after undo")
	w.tidyMemory(ctx)
	w.checkAllValid(ctx, "after a consolidation that follows the undo")
	w.Stop()
	t.Logf("%d kills: at failpoints %v, at random instants %d; %d facts", kills+kills/2+1, w.points, w.random, len(w.want))
}

// pairsPerKill is the number of pairs of duplicates that are added before each kill.
const pairsPerKill = 90

type consolidationFixture struct {
	*daemonFixture
	want map[string]string // texts of the imported facts by id
}

// importFacts imports pairs of duplicates and past events, and the first time a fact that a later name
// supersedes.
func (w *consolidationFixture) importFacts(ctx context.Context, round int) {
	w.t.Helper()
	var b bytes.Buffer
	began := time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC)
	add := func(n int, f exportedFact) {
		f.Provenance, f.CreatedAt = "owner", began.Add(time.Duration(n)*time.Minute).Format(time.RFC3339)
		w.want[f.ID] = f.Text
		raw, err := json.Marshal(map[string]any{"fact": f})
		failOnError(w.t, err)
		b.Write(append(raw, '\n'))
	}
	fmt.Fprintf(&b, "{\"hob\":\"memory\",\"version\":1,\"at\":%q}\n", began.Format(time.RFC3339))
	for n := round * pairsPerKill; n < (round+1)*pairsPerKill; n++ {
		add(n, exportedFact{ID: fmt.Sprintf("fa%d", n), Text: fmt.Sprintf("to open locker %d, push the door", n)})
		add(n+1, exportedFact{ID: fmt.Sprintf("fb%d", n), Text: fmt.Sprintf("to open the locker %d, push door", n)})
		if n%3 == 0 {
			add(n, exportedFact{ID: fmt.Sprintf("fe%d", n), Text: fmt.Sprintf("concert %d takes place in the old mill", n), Kind: "event", ValidUntil: began.AddDate(0, 1, 0).Format(time.RFC3339)})
		}
	}
	if round == 0 {
		add(3, exportedFact{ID: "fs1", Text: "my sister lives in Riga and she drives a Volvo"})
		add(4, exportedFact{ID: "fs2", Text: "Ana lives in Oslo"})
		add(5, exportedFact{ID: "fs3", Text: "my sister is called Ana"})
	}
	name := filepath.Join(filepath.Dir(w.effectsLog), fmt.Sprintf("memory%d.jsonl", round))
	failOnError(w.t, os.WriteFile(name, b.Bytes(), 0o600))
	req, err := json.Marshal(map[string]any{"path": name, "trust": true})
	failOnError(w.t, err)
	if out := w.callRaw(ctx, http.MethodPost, "/api/v1/memory/import", req); !bytes.Contains(out, []byte(`"hob jsonl"`)) {
		w.t.Fatalf("import: %s", out)
	}
}

// callRaw calls the API and returns the body. It returns nil if the daemon has died.
func (w *consolidationFixture) callRaw(ctx context.Context, method, path string, body []byte) []byte {
	token, err := os.ReadFile(filepath.Join(w.Home, "token"))
	failOnError(w.t, err)
	req, err := http.NewRequestWithContext(ctx, method, "http://"+w.Addr+path, bytes.NewReader(body))
	failOnError(w.t, err)
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	req.Header.Set("Content-Type", "application/json")
	res, err := (&http.Client{Timeout: 5 * time.Minute}).Do(req)
	if err != nil {
		return nil
	}
	defer res.Body.Close()
	var out bytes.Buffer
	_, _ = out.ReadFrom(res.Body)
	return out.Bytes()
}

// exportFacts returns all facts by id, with the retired ones.
func (w *consolidationFixture) exportFacts(ctx context.Context) map[string]exportedFact {
	w.t.Helper()
	out := map[string]exportedFact{}
	lines := bufio.NewScanner(bytes.NewReader(w.callRaw(ctx, http.MethodGet, "/api/v1/memory/export?format=jsonl", nil)))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r struct{ Fact *exportedFact }
		failOnError(w.t, json.Unmarshal(lines.Bytes(), &r))
		if r.Fact == nil {
			continue
		}
		if _, twice := out[r.Fact.ID]; twice {
			w.t.Errorf("%s is listed twice", r.Fact.ID)
		}
		out[r.Fact.ID] = *r.Fact
	}
	failOnError(w.t, lines.Err())
	return out
}

// compareTexts checks that each imported fact is there, with its text.
func (w *consolidationFixture) compareTexts(facts map[string]exportedFact) {
	w.t.Helper()
	for id, text := range w.want {
		if facts[id].Text != text {
			w.t.Errorf("text of %s was %q, now %q", id, text, facts[id].Text)
		}
	}
}

// checkAllValid checks that the imported facts are valid and that there are no others.
func (w *consolidationFixture) checkAllValid(ctx context.Context, when string) {
	w.t.Helper()
	facts := w.exportFacts(ctx)
	w.compareTexts(facts)
	for id, f := range facts {
		if f.RetiredAt != "" || w.want[id] == "" {
			w.t.Errorf("%s: %s (%s) is retired or new", when, id, f.Text)
		}
	}
}

// checkPair checks that exactly one fact of a pair is valid, and that the other one names it.
func (w *consolidationFixture) checkPair(facts map[string]exportedFact, n int) {
	a, b := facts[fmt.Sprintf("fa%d", n)], facts[fmt.Sprintf("fb%d", n)]
	if a.RetiredAt != "" || b.RetiredAt == "" || b.RetiredBy != a.ID {
		w.t.Errorf("pair %d: %+v and %+v", n, a, b)
	}
	if e, ok := facts[fmt.Sprintf("fe%d", n)]; ok && e.RetiredAt == "" {
		w.t.Errorf("event %d is still valid", n)
	}
}

// killDuring runs do in a daemon that is killed at a failpoint, or, one time of three, at a random
// instant.
func (w *consolidationFixture) killDuring(ctx context.Context, n int, do func(context.Context) bool) {
	p := consolidatePoints[w.rnd.IntN(len(consolidatePoints))]
	point := fmt.Sprintf("%s:%d", p.name, 1+w.rnd.IntN(p.upTo))
	w.Kill()
	if n%3 == 2 {
		point = ""
	}
	if !w.startDaemon(point) { // killed while it started
		w.points[p.name]++
		return
	}
	done := make(chan struct{})
	go func() { defer close(done); do(ctx) }()
	if point == "" {
		time.Sleep(time.Duration(w.rnd.IntN(60)) * time.Millisecond)
	} else {
		<-done // the call also ends if the daemon dies
		select {
		case <-w.Exited():
			w.points[p.name]++
		case <-time.After(200 * time.Millisecond): // fewer hits than the failpoint needs
		}
	}
	if w.Kill() {
		w.random++
	}
	<-done
}

// tidyMemory tidies the memory once.
func (w *consolidationFixture) tidyMemory(ctx context.Context) bool {
	return w.callRaw(ctx, http.MethodPost, "/api/v1/memory/consolidate", []byte("{}")) != nil
}

// undoSome undoes some of the consolidations and reports whether there may be more.
func (w *consolidationFixture) undoSome(ctx context.Context) bool {
	var list []struct{ Call, Tool string }
	if json.Unmarshal(w.callRaw(ctx, http.MethodGet, "/api/v1/undo", nil), &list) != nil {
		return false
	}
	list = slices.DeleteFunc(list, func(e struct{ Call, Tool string }) bool { return e.Tool != "consolidate_memory" })
	for _, e := range list[:min(len(list), 20)] {
		req, err := json.Marshal(map[string]any{"arguments": map[string]any{"id": e.Call}})
		failOnError(w.t, err)
		if out := w.callRaw(ctx, http.MethodPost, "/api/v1/tools/undo", req); out == nil {
			return false
		}
	}
	return len(list) > 0
}
