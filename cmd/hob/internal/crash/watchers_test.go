//go:build unix

package crash

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/platform/pim/pimtest"
)

// source is a watched source. Items from before the watcher must never be reported, and new items
// must be reported once.
type source struct {
	name string
	conf string         // its section in the configuration
	args map[string]any // arguments of create_watcher
	add  func(n int)
	// based reports whether the watcher has completed its first check.
	based func() bool
	told  *regexp.Regexp // matches the number of an item in a notice
}

// TestWatchersOverKills kills the daemon repeatedly while it watches feeds, mail and calendars.
// Earlier items are never reported, and new items are reported once, whether they arrive while the
// daemon runs or not. HOB_CRASH_WATCHER_KILLS (default 4) is the number of kills for each kind.
func TestWatchersOverKills(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) source{"feed": openFeed, "email": openMail, "calendar": openCalendar} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			watchOverKills(t, open(t))
		})
	}
}

func watchOverKills(t *testing.T, s source) {
	kills := envNumber("HOB_CRASH_WATCHER_KILLS", 4)
	w := newFixture(t, uint64(envNumber("HOB_CRASH_SEED", 1)))
	w.addConfig("[watchers]\nmin_every = \"1s\"\nper_day = 100000\n" + s.conf)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	w.daemonUp()
	s.args["config"].(map[string]any)["every"] = "1s"
	if s.name == "email" { // the mail server pushes new mail, so there is no interval
		delete(s.args["config"].(map[string]any), "every")
	}
	var made struct{ Text, Code, Error string }
	if err := w.Call(ctx, http.MethodPost, "/api/v1/tools/create_watcher", map[string]any{"session": "home", "arguments": s.args}, &made); err != nil || made.Code != "" {
		t.Fatalf("create the watcher: %v %+v", err, made)
	}
	w.waitUntil(ctx, "the first look", s.based)
	came := 0
	for n := range kills {
		came = s.addItems(w, came)
		w.killLife(n, func() { came = s.addItems(w, came) })
		came = s.addItems(w, came) // while the daemon is not running
	}
	w.daemonUp()
	came = s.addItems(w, came)
	told := func() map[string]int {
		out := map[string]int{}
		for _, d := range w.receiver.All() {
			if d.Kind != "notice" {
				continue
			}
			if m := s.told.FindStringSubmatch(d.Text); m != nil {
				out[m[1]]++
			} else {
				t.Errorf("unexpected notice: %q", d.Text)
			}
		}
		return out
	}
	w.waitUntil(ctx, "every notice", func() bool { return len(told()) >= came })
	time.Sleep(2500 * time.Millisecond) // time for notices that must not arrive
	lost, doubled, old := 0, 0, 0
	all := told()
	for n := 1; n <= came; n++ {
		switch key := fmt.Sprint(n); {
		case all[key] == 0:
			lost++
			t.Errorf("lost: %s %d", s.name, n)
		case all[key] > 1:
			doubled++
			t.Errorf("%d times: %s %d", all[key], s.name, n)
		}
		delete(all, fmt.Sprint(n))
	}
	for key := range all {
		old++
		t.Errorf("an earlier item was reported: %s %s", s.name, key)
	}
	t.Logf("%s: %d kills (at failpoints %v, %d at random instants), %d items; %d lost, %d doubled, %d earlier ones reported; %d copies dropped by their key",
		s.name, kills, w.points, w.random, came, lost, doubled, old, w.receiver.Copied)
	w.Stop()
}

// TestIntents_FireOnceOverKills kills the daemon repeatedly while messages make standing intents fire. Each
// intent fires once, although two messages match it.
func TestIntents_FireOnceOverKills(t *testing.T) {
	t.Parallel()
	kills := envNumber("HOB_CRASH_WATCHER_KILLS", 4)
	w := newFixture(t, uint64(envNumber("HOB_CRASH_SEED", 1)))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	w.daemonUp()
	for n := range 5 * kills {
		var made struct{ Text, Code, Error string }
		args := map[string]any{"from": "me", "words": []string{fmt.Sprintf("harbour%d", n)}, "remind": fmt.Sprintf("rope %d.", n)}
		if err := w.Call(ctx, http.MethodPost, "/api/v1/tools/create_intent", map[string]any{"session": "home", "arguments": args}, &made); err != nil || made.Code != "" {
			t.Fatalf("the intent cannot be made: %v %+v", err, made)
		}
	}
	var sending sync.WaitGroup
	sending.Go(func() {
		for n := range 5 * kills {
			for _, text := range []string{"at harbour%d now", "again at harbour%d"} {
				w.sendTo(ctx, "home", fmt.Sprintf(text, n))
			}
		}
	})
	for n := range kills {
		w.killLife(n, func() {})
	}
	w.daemonUp()
	sending.Wait()
	rope := regexp.MustCompile(`^Reminder: rope (\d+)\.$`)
	told := func() map[string]int {
		out := map[string]int{}
		for _, d := range w.receiver.All() {
			if m := rope.FindStringSubmatch(d.Text); m != nil {
				out[m[1]]++
			}
		}
		return out
	}
	w.waitUntil(ctx, "every reminder", func() bool { return len(told()) >= 5*kills })
	time.Sleep(2 * time.Second) // time for reminders that must not arrive
	for n, times := range told() {
		if times != 1 {
			t.Errorf("%d reminders of rope %s", times, n)
		}
	}
	t.Logf("%d kills (at failpoints %v, %d at random instants)", kills, w.points, w.random)
	w.Stop()
}

// addItems adds one or two items to the source and returns the new total.
func (s source) addItems(w *daemonFixture, came int) int {
	for range 1 + w.rnd.IntN(2) {
		came++
		s.add(came)
	}
	return came
}

// killLife starts the daemon, calls meanwhile, and kills the daemon at a failpoint or after a
// random time.
func (w *daemonFixture) killLife(n int, meanwhile func()) {
	w.Kill()
	points := []string{"store.commit.before", "store.commit.after", "loop.claimed", "channel.send.before", "channel.send.after"}
	point := ""
	if n%3 != 2 {
		point = fmt.Sprintf("%s:%d", points[w.rnd.IntN(len(points))], 1+w.rnd.IntN(12))
	}
	if w.startDaemon(point) {
		meanwhile()
	}
	select {
	case <-w.Exited():
		name, _, _ := strings.Cut(point, ":")
		if name == "" {
			w.t.Error("the daemon ended by itself")
		}
		w.points[name]++
	case <-time.After(time.Duration(w.rnd.IntN(1500)) * time.Millisecond):
		w.Kill()
		w.random++
	}
}

// addConfig adds sections to the configuration.
func (w *daemonFixture) addConfig(sections string) {
	f, err := os.OpenFile(filepath.Join(w.Home, "config.toml"), os.O_APPEND|os.O_WRONLY, 0o600)
	failOnError(w.t, err)
	_, err = f.WriteString(sections)
	failOnError(w.t, err)
	failOnError(w.t, f.Close())
}

// openFeed opens a feed with an ETag that contains all items so far.
func openFeed(t *testing.T) source {
	var mu sync.Mutex
	items := []string{}
	add := func(title string) {
		mu.Lock()
		defer mu.Unlock()
		items = append(items, fmt.Sprintf("<item><guid>%s</guid><title>%s</title></item>", title, title))
	}
	for n := range 30 {
		add(fmt.Sprintf("thing old%d.", n))
	}
	again := false
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		tag := fmt.Sprintf(`"%d"`, len(items))
		known := r.Header.Get("If-None-Match")
		again = again || known != ""
		w.Header().Set("ETag", tag)
		if known == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("Content-Type", "application/rss+xml")
		fmt.Fprintf(w, `<rss version="2.0"><channel><title>News</title>%s</channel></rss>`, strings.Join(items, ""))
	}))
	t.Cleanup(srv.Close)
	return source{
		name: "feed", conf: fmt.Sprintf("[network]\nallow = [%q]\n", strings.TrimPrefix(srv.URL, "http://")),
		args: map[string]any{"kind": "feed", "config": map[string]any{"url": srv.URL + "/feed.xml"}},
		add:  func(n int) { add(fmt.Sprintf("thing %d.", n)) },
		based: func() bool { // the ETag in the request shows that the watcher has stored the first items
			mu.Lock()
			defer mu.Unlock()
			return again
		},
		told: regexp.MustCompile(`thing (\w+)\.`),
	}
}

// openMail opens a mailbox on a real server, which announces new mail with IDLE.
func openMail(t *testing.T) source {
	d := pimtest.StartDovecot(t, "")
	letter := func(what string) string {
		return fmt.Sprintf("From: Ada <ada@x.org>\nTo: tester@test.local\nSubject: letter %s.\nMessage-ID: <%s@test.local>\nDate: %s\n\nPlease read.\n",
			what, what, time.Now().Format(time.RFC1123Z))
	}
	for n := range 20 {
		d.Deliver("tester", "INBOX", letter(fmt.Sprintf("old%d", n)), time.Now().Add(-time.Hour))
	}
	put := d.Appender("tester", "INBOX")
	return source{
		name:  "email",
		conf:  fmt.Sprintf("[accounts.work]\nimap = %q\nca = %q\naddress = \"tester@test.local\"\npassword = %q\n", d.IMAPS, d.CA, pimtest.Secret),
		args:  map[string]any{"kind": "email", "config": map[string]any{"from": "Ada"}},
		add:   func(n int) { put(letter(fmt.Sprint(n))) },
		based: func() bool { return true }, // the watcher reports mail that arrives after its creation
		told:  regexp.MustCompile(`letter (\w+)\.`),
	}
}

// openCalendar opens a calendar on a real server.
func openCalendar(t *testing.T) source {
	r := pimtest.StartRadicale(t)
	r.Make("Work")
	put := func(what string) {
		r.Put("Work", "event-"+what, "SUMMARY:event "+what+".\nDTSTART:"+time.Now().Add(72*time.Hour).UTC().Format("20060102T150405Z"))
	}
	for n := range 10 {
		put(fmt.Sprintf("old%d", n))
	}
	before := r.Requests()
	return source{
		name: "calendar", conf: fmt.Sprintf("[accounts.home]\ncaldav = %q\nuser = \"tester\"\npassword = %q\n", r.URL, pimtest.Secret),
		args: map[string]any{"kind": "calendar", "config": map[string]any{"tell": []string{"added"}}},
		add:  func(n int) { put(fmt.Sprint(n)) },
		based: func() bool { // each check takes several requests; after two checks the first result is stored
			return r.Requests() > before+14
		},
		told: regexp.MustCompile(`event (\w+)\.`),
	}
}
