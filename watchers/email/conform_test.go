package email

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/pimtest"
	"hob/platform/store"
	"hob/watchers"
	"hob/watchers/watcherstest"
)

// accountLookup returns an account lookup like the daemon's, for one account.
func accountLookup(a pim.Account) func(string, string) (pim.Account, error) {
	return func(name, server string) (pim.Account, error) {
		if server != pim.IMAP || name != "" && name != a.Name {
			return pim.Account{}, fmt.Errorf("account %q does not exist or cannot be used for this", name)
		}
		return a, nil
	}
}

func buildMail(id, from, subject, text string) string {
	return fmt.Sprintf("From: %s\nTo: tester@test.local\nSubject: %s\nMessage-ID: <%s@test.local>\nDate: %s\n\n%s\n",
		from, subject, id, time.Now().Format(time.RFC1123Z), text)
}

// nextSecond waits until new mails get a later time than existing ones, because servers record
// whole seconds.
func nextSecond() {
	now := time.Now()
	<-time.After(now.Truncate(time.Second).Add(time.Second + 20*time.Millisecond).Sub(now))
}

func TestConformance(t *testing.T) {
	d := pimtest.StartDovecot(t, "")
	var mu sync.Mutex
	n, boxes := 0, map[string]bool{}
	watcherstest.Run(t, watcherstest.Suite{
		New:     func() watchers.Driver { return New() },
		Account: accountLookup(d.Account("tester")),
		Config: func(t *testing.T) json.RawMessage {
			mu.Lock()
			defer mu.Unlock()
			n++
			return json.RawMessage(fmt.Sprintf(`{"account":"work","folder":"box%d","from":"ada@test.local"}`, n))
		},
		Bad: []string{
			`{"account":"other"}`, `{"from":7}`, `{"from":[7]}`, `{"from":""}`, `{"words":[" "]}`, `{"folder":"a\nb"}`,
			`{"subject":"` + strings.Repeat("x", 300) + `"}`,
		},
		Provoke: func(t *testing.T, raw json.RawMessage, n int) {
			f, err := parseFilter(raw)
			if err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			if !boxes[f.Folder] {
				d.Create("tester", f.Folder)
				boxes[f.Folder] = true
			}
			mu.Unlock()
			d.Deliver("tester", f.Folder, buildMail(fmt.Sprint(n), "Ada <ada@test.local>", "hello", "x"), time.Time{})
			nextSecond()
		},
	})
}

// mailFixture is a manager with a Dovecot server.
type mailFixture struct {
	t    *testing.T
	d    *pimtest.Dovecot
	st   *store.Store
	sink *watcherstest.Sink
	m    *watchers.Manager
	stop func()
}

func newFixture(t *testing.T, d *pimtest.Dovecot) *mailFixture {
	w := &mailFixture{t: t, d: d, st: watcherstest.Open(t, New())}
	w.sink = watcherstest.NewSink(w.st)
	w.startManager()
	return w
}

func (w *mailFixture) startManager() {
	w.t.Helper()
	o := watcherstest.Options(w.st, w.sink, New())
	o.Account = accountLookup(w.d.Account("tester"))
	o.Called = func(_ store.Querier, name string) []string {
		if name == "my sister" || name == "ana@silva.example" {
			return []string{"Ana Silva", "ana@silva.example"}
		}
		return nil
	}
	m, err := watchers.New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.m, w.stop = m, watcherstest.Start(w.t, m)
}

func (w *mailFixture) createWatcher(config string) watchers.Spec {
	w.t.Helper()
	return watcherstest.Create(w.t, w.st, w.m, watchers.Spec{Kind: Kind, Config: json.RawMessage(config), Report: "test"})
}

// awaitBaseline waits until a watcher has read its folder.
func (w *mailFixture) awaitBaseline(s watchers.Spec) {
	w.t.Helper()
	watcherstest.Eventually(w.t, "the baseline is taken", func() bool {
		c, err := (&watch{id: s.ID, deps: watchers.Deps{Store: w.st}}).loadCursor(context.Background())
		return err == nil && c.validity != 0
	})
}

// firedKeys returns the Message-IDs of the mails that fired for a watcher.
func (w *mailFixture) firedKeys(s watchers.Spec) (out []string) {
	for _, f := range w.sink.Fired() {
		if f.Watcher == s.ID {
			out = append(out, strings.TrimSuffix(strings.TrimPrefix(f.Key, "mail:"), "@test.local"))
		}
	}
	return out
}

func (w *mailFixture) expectFired(s watchers.Spec, want ...string) {
	w.t.Helper()
	watcherstest.Eventually(w.t, fmt.Sprintf("%s fires %v", s.Config, want), func() bool { return len(w.firedKeys(s)) >= len(want) })
	if got := w.firedKeys(s); fmt.Sprint(got) != fmt.Sprint(want) {
		w.t.Errorf("%s fired %v, want %v", s.Config, got, want)
	}
}

func TestConnection_IsSharedByFilters(t *testing.T) {
	t.Parallel()
	d := pimtest.StartDovecot(t, "")
	w := newFixture(t, d)
	all := w.createWatcher(`{}`)
	ada := w.createWatcher(`{"from":"Ada","words":"invoice"}`)
	house := w.createWatcher(`{"from":["test.local"],"subject":["Invoice","Rechnung"]}`)
	sister := w.createWatcher(`{"from":"my sister"}`)
	address := w.createWatcher(`{"from":"ana@silva.example"}`)
	march := w.createWatcher(`{"words":["march","invoice"],"to":"tester@test.local"}`)
	for _, s := range []watchers.Spec{all, ada, house, march, sister, address} {
		w.awaitBaseline(s)
	}
	for _, m := range []string{
		buildMail("1", "Ada Lovelace <a@x.org>", "The invoice", "for you"),
		buildMail("2", "Bob <bob@test.local>", "Rechnung", "März"),
		buildMail("3", "ada@y.org", "Hello", "The INVOICE of\nMarch is there"),
		buildMail("4", "Adamo <o@z.org>", "invoice", "not for her"),
		buildMail("5", "A. <ana@silva.example>", "the sea", "is warm"),
		buildMail("6", "Ana Silva <new@silva.example>", "the sea", "is cold"),
		buildMail("7", "Ana Other <ana@silva.example.evil.example>", "the sea", "is far"),
	} {
		d.Deliver("tester", "INBOX", m, time.Time{})
	}
	w.expectFired(all, "1", "2", "3", "4", "5", "6", "7")
	w.expectFired(sister, "5", "6")
	w.expectFired(address, "5") // a sender with the same display name has another address
	w.expectFired(ada, "1", "3")
	w.expectFired(house, "2")
	w.expectFired(march, "3")
	if n := d.Connections("tester"); n != 1 {
		t.Errorf("%d connections", n)
	}
	first := slices.IndexFunc(w.sink.Fired(), func(f watcherstest.Fired) bool { return f.Key == "mail:1@test.local" })
	if f := w.sink.Fired()[first]; f.Source != "outside" || f.Text != "Mail from Ada Lovelace <a@x.org>: The invoice" || !strings.Contains(string(f.Payload), `"text":"for you"`) {
		t.Errorf("%+v, %s", f, f.Payload)
	}
}

func TestOutage_LosesNothing(t *testing.T) {
	t.Parallel()
	d := pimtest.StartDovecot(t, "")
	for n := range 60 { // fill the mailbox with old emails
		d.Deliver("tester", "INBOX", buildMail(fmt.Sprint("old", n), "ada@test.local", "old", "x"), time.Now().AddDate(0, 0, -10))
	}
	w := newFixture(t, d)
	s := w.createWatcher(`{"from":"ada@test.local"}`)
	w.awaitBaseline(s)
	d.Deliver("tester", "INBOX", buildMail("1", "ada@test.local", "a", "x"), time.Time{})
	w.expectFired(s, "1")
	d.Stop()
	d.Start()
	d.Deliver("tester", "INBOX", buildMail("2", "ada@test.local", "b", "x"), time.Time{})
	w.expectFired(s, "1", "2")
	w.stop()
	d.Deliver("tester", "INBOX", buildMail("3", "ada@test.local", "c", "x"), time.Time{})
	d.Deliver("tester", "INBOX", buildMail("4", "ada@test.local", "d", "x"), time.Time{})
	d.Renumber("tester")
	w.startManager()
	w.expectFired(s, "1", "2", "3", "4")
	w.stop()
	w.useOlderSeparator()
	d.Deliver("tester", "INBOX", buildMail("5", "ada@test.local", "e", "x"), time.Time{})
	w.startManager()
	w.expectFired(s, "1", "2", "3", "4", "5")
	got, err := w.m.Get(t.Context(), s.ID)
	if err != nil || got.Fired != 5 {
		t.Errorf("fired %d times, %v", got.Fired, err)
	}
	if n := len(w.sink.Troubles()); n != 0 {
		t.Errorf("short outage of the server was reported: %v", w.sink.Troubles())
	}
}

// useOlderSeparator stores the cursor of the only watcher as older versions did.
func (w *mailFixture) useOlderSeparator() {
	w.t.Helper()
	if err := w.st.Write(w.t.Context(), func(tx *store.Tx) error {
		var box string
		if err := tx.QueryRow("SELECT box FROM email_watches").Scan(&box); err != nil {
			return err
		}
		_, err := tx.Exec("UPDATE email_watches SET box = ?", strings.Replace(box, boxSeparator, "\x00", 1))
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
}

// TestReceive_ManyMails delivers more emails than fit in a page or in the memory of a box, and stops the
// manager repeatedly. Each email must fire exactly once, in order.
func TestReceive_ManyMails(t *testing.T) {
	t.Parallel()
	d := pimtest.StartDovecot(t, "")
	w := newFixture(t, d)
	s := w.createWatcher(`{}`)
	w.awaitBaseline(s)
	w.stop()
	const most = 2*maxRecent + 30
	c := d.Appender("tester", "INBOX")
	for n := range most {
		c(buildMail(fmt.Sprint(n), "ada@test.local", "x", "y"))
	}
	for range 8 {
		w.sink.Fail(nil)
		calls := w.sink.Calls()
		w.startManager()
		watcherstest.Eventually(t, "a batch", func() bool { return w.sink.Calls() > calls || len(w.firedKeys(s)) == most })
		w.sink.Fail(errors.New("the disk is full")) // the write in progress is rolled back
		w.stop()
	}
	w.sink.Fail(nil)
	w.startManager()
	watcherstest.Eventually(t, "all fire", func() bool { return len(w.firedKeys(s)) >= most })
	for n, k := range w.firedKeys(s) {
		if k != fmt.Sprint(n) {
			t.Fatalf("signal %d = %s", n, k)
		}
	}
	if got, err := w.m.Get(t.Context(), s.ID); err != nil || got.Fired != most { // the sink drops repeated keys, so also check the count
		t.Errorf("fired %d times, %v", got.Fired, err)
	}
}

func TestSignIn_RefusalIsReportedOnce(t *testing.T) {
	t.Parallel()
	d := pimtest.StartDovecot(t, "")
	st := watcherstest.Open(t, New())
	sink := watcherstest.NewSink(st)
	a := d.Account("tester")
	asked := 0
	var mu sync.Mutex
	a.Secret = func(context.Context) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		return "hunter2", nil
	}
	o := watcherstest.Options(st, sink, New())
	o.Account = accountLookup(a)
	m, err := watchers.New(o)
	if err != nil {
		t.Fatal(err)
	}
	watcherstest.Start(t, m)
	for range 5 {
		watcherstest.Create(t, st, m, watchers.Spec{Kind: Kind, Config: json.RawMessage(`{}`), Report: "test"})
	}
	watcherstest.Eventually(t, "the owner is told", func() bool { return len(sink.Troubles()) > 0 })
	<-time.After(3 * time.Second) // the manager retries the watcher that reported the error
	mu.Lock()
	defer mu.Unlock()
	if n := len(sink.Troubles()); n != 1 || asked != 1 || strings.Contains(sink.Troubles()[0].Error(), "hunter2") {
		t.Errorf("reported %d times, signed in %d times: %v", n, asked, sink.Troubles())
	}
}

func TestPast(t *testing.T) {
	t.Parallel()
	d := pimtest.StartDovecot(t, "")
	now := time.Now()
	d.Deliver("tester", "INBOX", buildMail("1", "ada@test.local", "long ago", "x"), now.AddDate(0, 0, -20))
	d.Deliver("tester", "INBOX", buildMail("2", "ada@test.local", "this week", "x"), now.AddDate(0, 0, -2))
	d.Deliver("tester", "INBOX", buildMail("3", "bob@test.local", "this week", "x"), now.AddDate(0, 0, -1))
	st := watcherstest.Open(t, New())
	made, err := New().New(watchers.Spec{ID: "w1", Kind: Kind, Config: json.RawMessage(`{"from":"ada"}`)},
		watchers.Deps{Store: st, Log: slog.New(slog.DiscardHandler), Account: accountLookup(d.Account("tester")), Called: func(store.Querier, string) []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	got, err := made.(watchers.Historian).Past(t.Context(), now.AddDate(0, 0, -7))
	if err != nil || len(got) != 1 || got[0].Key != "mail:2@test.local" {
		t.Errorf("Past = %v, %v", got, err)
	}
}
