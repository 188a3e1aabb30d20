package usage

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"hob/autonomy/llm"
	"hob/platform/store"
	"hob/platform/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a model that answers with a fixed number of tokens.
type fake struct {
	info  llm.Info
	usage llm.Usage
	err   error
	text  string
	wait  time.Duration

	mu     sync.Mutex
	limits []int // MaxTokens of the requests
}

func (f *fake) Info() llm.Info { return f.info }

func (f *fake) Stream(_ context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		f.mu.Lock()
		f.limits = append(f.limits, r.MaxTokens)
		f.mu.Unlock()
		time.Sleep(f.wait)
		if f.text != "" && !yield(llm.Event{Kind: llm.TextDelta, Text: f.text}, nil) {
			return
		}
		if f.err != nil {
			yield(llm.Event{}, f.err)
			return
		}
		yield(llm.Event{Kind: llm.Done, Stop: llm.EndTurn, Usage: f.usage}, nil)
	}
}

func (f *fake) callCount() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.limits)
}

// usageFixture is a Tracker over a database file, with caps that may change.
type usageFixture struct {
	*Tracker
	t    testing.TB
	db   *store.Store
	caps Caps
	agt  map[string]Caps
	zone *time.Location

	mu   sync.Mutex
	told map[string]string
}

// waitingRows counts the rows that are not stored.
func (d *usageFixture) waitingRows() int {
	d.Tracker.mu.Lock()
	defer d.Tracker.mu.Unlock()
	return len(d.pending)
}

func (d *usageFixture) toldSentences() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for _, s := range d.told {
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

// openBooks opens the tracker over the database at path. d.told holds the messages that the user
// has already received.
func openBooks(t testing.TB, path string, d *usageFixture) *usageFixture {
	t.Helper()
	var err error
	d.t = t
	if d.zone == nil {
		d.zone = time.UTC
	}
	if d.told == nil {
		d.told = map[string]string{}
	}
	if d.db, err = storetest.Open(context.Background(), path, []store.MigrationSet{Migrations()}, store.Options{}); err != nil {
		t.Fatal(err)
	}
	own := newPrices(t, map[string]Price{"p/m": {Input: 1, Output: 10}, "p/cheap": {Input: 0.1, Output: 1}})
	d.Tracker, err = New(d.db, Options{
		Prices: func() *Prices { return own },
		Caps: func(agent string) Caps {
			if agent == "" {
				return d.caps
			}
			return d.agt[agent]
		},
		Zone: func() *time.Location { return d.zone },
		Tell: func(_ context.Context, key, text string) error {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.told[key] = text
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// closeBooks stops the tracker like an orderly shutdown.
func (d *usageFixture) closeBooks() {
	d.t.Helper()
	if err := errors.Join(d.Flush(context.Background()), d.db.Close()); err != nil {
		d.t.Fatal(err)
	}
}

func (d *usageFixture) callModel(m llm.Model, r llm.Request) (llm.Response, error) {
	return llm.Collect(d.Meter(m, MeterOptions{}).Stream(context.Background(), r))
}

func newFake(name string, in, out int) *fake {
	return &fake{info: llm.Info{Provider: "p", Model: name}, usage: llm.Usage{Input: in, Output: out, Known: true}, text: "hi"}
}

func newRequest(chars int) llm.Request {
	return llm.Request{Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: strings.Repeat("x", chars)}}}}}
}

func dbPath(t testing.TB) string { return filepath.Join(t.TempDir(), "hob.db") }

func TestTracker_RecordsEveryCall(t *testing.T) {
	d := openBooks(t, dbPath(t), &usageFixture{})
	defer d.closeBooks()
	r := newRequest(250)
	r.Account = llm.Account{Agent: "", Session: "s", Event: "e1", Purpose: llm.ForTurn}
	network := &llm.Error{Kind: llm.Network, Provider: "p"}
	refused := &llm.Error{Kind: llm.Unauthorized, Status: 401, Provider: "p"}
	for _, m := range []*fake{
		newFake("m", 1000, 100),
		{info: llm.Info{Provider: "p", Model: "m"}, text: strings.Repeat("y", 250), err: network}, // failed during the answer
		{info: llm.Info{Provider: "p", Model: "m"}, err: network},                                 // failed before the first text
		{info: llm.Info{Provider: "p", Model: "m"}, err: refused},                                 // free of charge
		{info: llm.Info{Provider: "x", Model: "strange"}, usage: llm.Usage{Input: 10, Output: 1, Known: true}},
		{info: llm.Info{Provider: "ollama", Model: "l", Local: true}, usage: llm.Usage{Input: 10, Output: 1, Known: true}},
	} {
		_, _ = d.callModel(m, r)
	}
	days, err := d.Days(context.Background(), 10)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, x := range days {
		cost := "unknown"
		if x.Cost != nil {
			cost = x.Cost.String()
		}
		if len(x.Purposes) != 1 || x.Purposes[0].Name != llm.ForTurn || x.Purposes[0].Calls != x.Calls || x.Purposes[0].Tokens != x.Usage.Input+x.Usage.Output {
			t.Errorf("%s: the purposes are %+v, want all %d calls for a turn", x.Model, x.Purposes, x.Calls)
		}
		got[x.Model] = fmt.Sprintf("%d turns, %d calls, %d in, %d out, %s, %d unpriced, %d estimated", x.Turns, x.Calls, x.Usage.Input, x.Usage.Output, cost, x.Unpriced, x.Estimated)
	}
	for name, want := range map[string]string{
		// 1000 tokens were counted for 250 bytes, so the next 250 bytes are estimated as 275,
		// the largest accepted ratio
		"p/m":       "1 turns, 4 calls, 1550 in, 200 out, $0.0036, 0 unpriced, 2 estimated",
		"x/strange": "1 turns, 1 calls, 10 in, 1 out, unknown, 1 unpriced, 0 estimated",
		"ollama/l":  "1 turns, 1 calls, 10 in, 1 out, $0, 0 unpriced, 0 estimated",
	} {
		if got[name] != want {
			t.Errorf("%s: %s, want %s", name, got[name], want)
		}
	}
	if calls, cost, err := d.Of(context.Background(), "e1"); err != nil || calls != 6 || cost != nil {
		t.Errorf("usage of the event: %d calls, cost %v, %v; want an unknown cost", calls, cost, err)
	}
}

// Rows are stored in other transactions, exactly once even if a transaction is rolled back or two
// transactions contain them.
func TestTracker_StoresRowsInOtherTransactions(t *testing.T) {
	d := openBooks(t, dbPath(t), &usageFixture{})
	defer d.closeBooks()
	_, _ = d.callModel(newFake("m", 10, 10), newRequest(10))
	boom := errors.New("boom")
	if err := d.db.Write(t.Context(), func(tx *store.Tx) error { return errors.Join(d.FlushTx(tx), boom) }); !errors.Is(err, boom) {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := d.db.Write(context.Background(), d.FlushTx); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := d.waitingRows(); n != 0 {
		t.Errorf("%d rows are unsaved", n)
	}
	var n int
	if err := d.db.Read().QueryRowContext(t.Context(), `SELECT count(*) FROM model_calls`).Scan(&n); err != nil || n != 1 {
		t.Errorf("%d rows, %v", n, err)
	}
}

// Run stores the remaining rows after one second.
func TestTracker_RunStoresRemainingRows(t *testing.T) {
	path := dbPath(t)
	synctest.Test(t, func(t *testing.T) {
		d := openBooks(t, path, &usageFixture{})
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- d.Run(ctx) }()
		_, _ = d.callModel(newFake("m", 10, 10), newRequest(10))
		time.Sleep(2 * time.Second)
		left := d.waitingRows()
		if left != 0 {
			t.Errorf("%d rows are unsaved after 2 s", left)
		}
		_, _ = d.callModel(newFake("m", 10, 10), newRequest(10))
		stop()
		err := <-done
		left = d.waitingRows()
		if err != nil || left != 0 {
			t.Errorf("Run = %v, %d rows are unsaved", err, left)
		}
		d.closeBooks()
	})
}
