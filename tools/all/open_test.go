package all

import (
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/api"
	"hob/autonomy/bus"
	"hob/autonomy/config"
	"hob/autonomy/mind/goals"
	"hob/autonomy/notify"
	"hob/channels"
	"hob/knowledge"
	"hob/knowledge/graph"
	"hob/platform/host/command"
	"hob/platform/host/denypaths"
	"hob/platform/host/osrun/osruntest"
	"hob/platform/host/trash"
	"hob/platform/net/safehttp/safehttptest"
	"hob/platform/pim"
	"hob/platform/pim/markdown"
	"hob/platform/pim/netaccount"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/storetest"
	"hob/tools"
	"hob/tools/browser"
	"hob/tools/database"
	"hob/tools/files"
	"hob/tools/mail"
	"hob/tools/mcp/servers"
	"hob/tools/money"
	"hob/tools/social"
	"hob/tools/toolstest"
	"hob/tools/travel"
	"hob/tools/web"
	"hob/watchers"
	watchersall "hob/watchers/all"
)

// now is a Wednesday in the far future, so that all reminders and schedules of the tests are in the
// future of the real clock, too.
var now = time.Date(2094, 3, 10, 14, 30, 0, 0, time.FixedZone("CET", 3600))

// engine is a fake of Hob's engine for status and undo.
type engine struct{}

func (engine) Status(context.Context) (api.Status, error) {
	return api.Status{Name: "Hob", Version: "test", Daemon: true}, nil
}

func (engine) Undo(_ context.Context, r tools.UndoRequest) (tools.Result, error) {
	if r.ID == "" && r.Last == 0 {
		return tools.Result{}, &tools.Error{Code: tools.NotFound, Message: "there is nothing to undo"}
	}
	return tools.Result{Source: provenance.Tool, Text: "Undone."}, nil
}

func (engine) Explain(_ context.Context, r tools.ExplainRequest) (tools.Result, error) {
	return tools.Result{Source: provenance.Tool, Text: "nothing was held back"}, nil
}

func (engine) Undoable(_ context.Context, r tools.UndoRequest) ([]string, string, error) {
	return slices.Repeat([]string{"delete the task"}, max(1, r.Last)), "11:41", nil
}

func (engine) Usage(context.Context, api.Query) ([]api.UsageRow, error) {
	return []api.UsageRow{
		{Day: "2094-03-10", Model: "anthropic/opus", Turns: 2, ModelCalls: 3, Input: 1200, Output: 90, CostUSD: new(0.0125), Purposes: []api.PurposeUsage{{Purpose: "turn", ModelCalls: 3, Tokens: 1290, CostUSD: new(0.0125)}}},
		{Day: "2094-03-01", Model: "local/llama", Turns: 1, ModelCalls: 1, Input: 400, Output: 10, Unpriced: 1},
	}, nil
}

func (engine) Budget(context.Context) ([]api.BudgetRow, error) {
	return []api.BudgetRow{{Period: "day", Which: "2094-03-10", CostUSD: 0.0125, CountedUSD: 0.0125, CapUSD: new(0.05), Calls: 3, Tokens: 1290}}, nil
}

// empty copies a database with every table.
var empty = storetest.Empty(func() []store.MigrationSet { return allMigrations(watchersall.Drivers()) })

func allMigrations(drivers []watchers.Driver) []store.MigrationSet {
	sets := append(append(Migrations(), graph.Migrations()), watchers.AllMigrations(drivers)...)
	sets = append(sets, bus.Migrations(), goals.Migrations(), notify.Migrations())
	return append(sets, store.MigrationSet{Owner: "post", Steps: []string{`CREATE TABLE sent (id TEXT PRIMARY KEY)`}})
}

func openStore(t *testing.T, home string, drivers []watchers.Driver) *store.Store {
	t.Helper()
	path := filepath.Join(home, "hob", "hob.db")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	empty(t, path)
	st, err := storetest.Open(t.Context(), path, allMigrations(drivers), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// openEnv returns a home with ~/Documents allowed and every tool.
func openEnv(t *testing.T) toolstest.Env {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	docs := filepath.Join(home, "Documents")
	if err := os.MkdirAll(docs, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(docs, "a.txt"), []byte("first line\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	drivers := watchersall.Drivers()
	client := safehttptest.New(t, http.HandlerFunc(servePage)).Client(t)
	st := openStore(t, home, drivers)
	d := Deps{Store: st, Engine: engine{}, Now: func() time.Time { return now }}
	d.Conversations, d.Messages.Conversations, d.Messages.Scripts = talk{}, talk{}, osruntest.NewMac(t, map[string]any{})
	d.Post = post{}
	d.Desktop = desktopDeps(t, docs)
	d.Media = machineDeps(t, docs, &d.Desktop)
	d.Weather.Network = client
	d.Travel = travel.Deps{Network: client, Travel: config.Travel{RoutesURL: "http://routes.example", GeocoderURL: "http://geo.example", FlightsURL: "http://flights.example", FlightsAPI: travel.AviationStack}}
	d.Rates = money.Rates{Network: client, Store: st, URL: "http://rates.example/daily.xml"}
	d.Mail.Accounts, d.Calendar.Accounts = testAccounts(t)
	d.Browser = browser.Deps{Browser: &tabList{}, Own: owners{}, Network: client, Keep: func(name string, _ []byte) (string, error) { return "/pictures/" + name, nil }}
	d.Web = web.Deps{Network: client, Search: web.Search{BaseURL: "http://search.example"}}
	related, err := graph.New(graph.Options{Store: st})
	if err != nil {
		t.Fatal(err)
	}
	d.Linker = related
	if d.Knowledge, err = knowledge.New(st, knowledge.Options{Graph: related}); err != nil {
		t.Fatal(err)
	}
	d.Watchers, err = watchers.New(watchers.Options{
		Store: st, Drivers: drivers, Network: client, Search: d.Web.WatchTopic, Zone: func() *time.Location { return now.Location() }, AllowedRead: func(path string) error {
			if strings.HasPrefix(path, docs) {
				return nil
			}
			return files.ErrNotAllowed
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	can, err := trash.New(trash.Options{Home: home, DataHome: filepath.Join(home, "data")})
	if err != nil {
		t.Fatal(err)
	}
	d.Files, err = files.New(files.Options{Allowed: []string{docs}, Drop: filepath.Join(docs, "Hob"), Home: home, UndoDir: filepath.Join(home, "hob", "undo"), Trash: can})
	if err != nil {
		t.Fatal(err)
	}
	d.Mail.Mailers = func() (out []pim.Mailer) {
		for _, a := range d.Mail.Accounts() {
			out = append(out, netaccount.NewMail(a))
		}
		return out
	}
	d.Messages.Replies = social.NewReplier(social.ReplierOptions{State: bus.NewChannelState(st, "auto_reply"), Mailers: d.Mail.Mailers})
	d.Lists = func() (out []pim.Reminders) {
		for _, a := range d.Calendar.Accounts() {
			out = append(out, netaccount.NewReminders(a, now.Location()))
		}
		return out
	}
	vault := filepath.Join(home, "vault")
	if err := os.MkdirAll(vault, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(vault, "Boiler.md"), []byte("The boiler is a Vaillant."), 0o600); err != nil {
		t.Fatal(err)
	}
	d.Notes = func() []pim.Notes { return []pim.Notes{markdown.New(vault)} }
	d.Contacts.Books = func() []pim.Contacts { return []pim.Contacts{book{}} }
	d.Calendar.Now = func() time.Time { return now }
	d.Calendar.Calendars = func() (out []pim.Calendars) {
		for _, a := range d.Calendar.Accounts() {
			out = append(out, netaccount.NewCalendars(a))
		}
		return out
	}
	d.Mail.Calendars, d.Mail.UndoSave, d.Mail.Now = d.Calendar.Calendars, d.Files.UndoSave, func() time.Time { return now }
	d.Mail.Save = func(ctx context.Context, folder, name string, content []byte, list []provenance.Origin) (out mail.SavedFile, err error) {
		out.Path, out.Shown, out.Undo, err = d.Files.SaveUntrusted(ctx, folder, name, content, list)
		return out, err
	}
	d.Mail.Rules = mail.NewRules(mail.RulesOptions{Store: d.Store, Accounts: d.Mail.Accounts})
	d.Mail.Attach = func(ctx context.Context, path string) (pim.Attachment, error) {
		doc, err := d.Files.ReadDocument(ctx, path, pim.MaxFileBytes)
		return pim.Attachment{Name: filepath.Base(doc.Path), Data: doc.Content}, err
	}
	judge, err := command.New(command.Options{Home: home, Allowed: []string{docs}, Places: denypaths.New(denypaths.Options{Home: home, Allowed: []string{docs}})})
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d.Shell.Judge = judge
	if d.Shell.Runner, err = command.NewRunner(command.RunOptions{Judge: judge, Sandbox: command.Off, Helper: []string{exe, command.Helper}}); err != nil {
		t.Fatal(err)
	}
	events := bus.New(st, bus.Options{})
	kept, err := goals.New(goals.Options{Store: st, Bus: events})
	if err != nil {
		t.Fatal(err)
	}
	d.Goals = goals.ToolGoals{Goals: kept, Bus: events, Zone: now.Location, Offline: func() bool { return false }}
	told, err := notify.New(notify.Options{Store: st, Bus: bus.New(st, bus.Options{}), Zone: func() *time.Location { return now.Location() }})
	if err != nil {
		t.Fatal(err)
	}
	d.Notices = notify.ToolNotices{Notifier: told}
	addNotifications(t, st)
	shop := filepath.Join(docs, "..", "shop.db")
	if err := os.WriteFile(shop, shopDatabase(t), 0o600); err != nil {
		t.Fatal(err)
	}
	d.KeepPicture = func(name string, data []byte) (string, error) {
		path := filepath.Join(home, "hob", name)
		return path, os.WriteFile(path, data, 0o600)
	}
	d.Databases = database.Deps{Home: home, Databases: []config.Database{{Name: "shop", URL: shop, MaxRows: 10, MaxBytes: config.Size{Bytes: 1 << 16}, Timeout: config.Duration{Duration: 10 * time.Second}}}}
	d.Connect = servers.ConnectDeps{Config: func() *config.Config { return &config.Config{} }, Asked: func(context.Context, string, string, func(json.RawMessage) bool) (bool, error) { return false, nil }}
	return toolstest.Env{Store: st, Tools: All(d), Dir: docs, Now: now, Away: func(tool string) []string { return serverData(t, d, tool) }}
}

// shopDatabase returns an SQLite file with one table.
func shopDatabase(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE orders (id INTEGER PRIMARY KEY, total REAL); INSERT INTO orders VALUES (1, 12.5)"); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func expectEqual(t *testing.T, before, after map[string][]string) {
	t.Helper()
	if d := cmp.Diff(before, after); d != "" {
		t.Errorf("the call changed data:\n%s", d)
	}
}

// servePage serves the web: a page at every address, a feed, and a search service.
func servePage(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/route/v1/driving/") {
		_, _ = io.WriteString(w, `{"code":"Ok","routes":[{"distance":103400,"duration":4680,"legs":[]}]}`)
		return
	}
	if r.URL.Path == "/v1/flights" {
		_, _ = io.WriteString(w, `{"data":[{"flight_date":"2094-03-10","flight_status":"active","departure":{"iata":"VNO","gate":"C7","delay":45},"arrival":{"iata":"RIX"},"flight":{"iata":"BT342"}}]}`)
		return
	}
	if strings.HasSuffix(r.Host, "open-meteo.com") {
		_, _ = io.WriteString(w, `{"daily":{"time":["2094-03-10"],"weather_code":[0]}}`)
		return
	}
	if r.Host == "export.arxiv.org" {
		_, _ = io.WriteString(w, `<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>http://arxiv.org/abs/1</id><published>2021-01-04T10:00:00Z</published><title>Boilers at rest</title><summary>They cool.</summary></entry></feed>`)
		return
	}
	if r.URL.Path == "/daily.xml" {
		_, _ = io.WriteString(w, `<Envelope><Cube><Cube time="2094-03-10"><Cube currency="USD" rate="1.25"/></Cube></Cube></Envelope>`)
		return
	}
	if r.URL.Path == "/search" && strings.Contains(r.URL.Query().Get("q"), "boiler hold") {
		_, _ = io.WriteString(w, `{"results":[{"title":"Boilers","url":"http://boiler.example/story","content":"All about them."}]}`)
		return
	}
	if r.URL.Path == "/story" {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<title>Boilers</title><p>The boiler holds 120 litres of water and weighs 80 kg.</p><p>It was built in 1998 by a small firm in Riga, which still sells parts.</p><p>Nobody has cleaned it for years.</p>`)
		return
	}
	if r.URL.Path == "/search" {
		_, _ = io.WriteString(w, `{"results":[{"title":"Boilers","url":"https://boiler.example/a","content":"All about them."}]}`)
		return
	}
	if r.URL.Path == "/feed.xml" {
		_, _ = io.WriteString(w, `<rss version="2.0"><channel><title>Boilers</title><item><title>They are warm</title></item></channel></rss>`)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	_, _ = io.WriteString(w, `<title>Boilers</title><p>They are warm. <a href="/b">More</a>`)
}

// post is a fake Sender that delivers no message. It has a webhook and a chat with the owner.
type post struct{}

func (post) Channels() []string { return []string{"telegram", "webhook"} }

func (post) Owners(_ context.Context, channel, chat string) (bool, error) {
	return channel == "telegram" && chat == "7", nil
}

func (post) File(_ context.Context, path string) (channels.OutgoingFile, error) {
	if path != "a.txt" && path != ".env" {
		return channels.OutgoingFile{}, tools.Errorf(tools.NotFound, "there is no %s", path)
	}
	return channels.OutgoingFile{Name: path, Path: "/home/" + path, Hidden: path == ".env", MIME: "text/plain", Size: 1, Digest: "2d71"}, nil
}

func (post) Keep(context.Context, channels.OutgoingMessage) error { return nil }

func (post) Here(_ context.Context, _, channel string) (in, chat string, err error) {
	return "telegram", "7", nil
}

func (post) SendTx(_ context.Context, tx *store.Tx, c tools.Call, _ channels.OutgoingMessage) (channels.QueuedMessage, error) {
	_, err := tx.Exec(`INSERT INTO sent (id) VALUES ('d1')`)
	return channels.QueuedMessage{ID: "d1", At: c.Now.Add(10 * time.Second)}, err
}

func (post) CallBackTx(_ context.Context, tx *store.Tx, id string) (string, error) {
	res, err := tx.Exec(`DELETE FROM sent WHERE id = ?`, id)
	if err != nil {
		return "", err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return "", tools.Errorf(tools.Conflict, "it was called back before")
	}
	return "Called back.", nil
}

// talk is a fake conversation history that contains two messages.
type talk struct{}

func (talk) SearchConversations(_ context.Context, q knowledge.ConversationQuery) ([]knowledge.Said, error) {
	var out []knowledge.Said
	for _, s := range []knowledge.Said{
		{Message: 7, Session: "home", Who: "owner", At: now.AddDate(0, 0, -1), Text: "the [plumber] comes", Provenance: provenance.Owner},
		{Message: 9, Session: "home", Who: "tool", At: now, Text: "a page about a [boiler]", Provenance: provenance.Outside},
	} {
		if strings.Contains(s.Text, q.Text) && (q.Who == "" || q.Who == s.Who) && !s.At.Before(q.Since) && (q.Until.IsZero() || s.At.Before(q.Until)) {
			out = append(out, s)
		}
	}
	return out, nil
}

func (talk) MessagesIn(_ context.Context, q knowledge.ConversationQuery) (out []knowledge.Said, err error) {
	for _, s := range []knowledge.Said{
		{Message: 12, Session: "telegram:42", Who: "Ada", At: now.Add(-5 * time.Hour), Text: "Can you bring the ladder on Friday?", Provenance: provenance.Outside},
		{Message: 11, Session: "home", Who: "hob", At: now.Add(-6 * time.Hour), Text: "Noted.", Provenance: provenance.Hob},
		{Message: 10, Session: "home", Who: "owner", At: now.Add(-6 * time.Hour), Text: "the plumber needs the cellar key at 10", Provenance: provenance.Owner},
	} {
		if (q.Session == "" || q.Session == s.Session) && !s.At.Before(q.Since) && s.At.Before(q.Until) {
			out = append(out, s)
		}
	}
	return out, nil
}

func (talk) SaidIn(_ context.Context, message int64) (knowledge.Said, error) {
	if message != 9 {
		return knowledge.Said{}, tools.Errorf(tools.NotFound, "message %d: there is no such message", message)
	}
	return knowledge.Said{Message: 9, Session: "home", Who: "tool", At: now, Text: "a page about a boiler, whole", Provenance: provenance.Outside}, nil
}

// addNotifications stores two deferred notifications; one of them is untrusted.
func addNotifications(t *testing.T, st *store.Store) {
	t.Helper()
	err := st.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO notices (id, event, kind, cause, subject, session, channel, chat, text, provenance, urgency, rule, state, why, held_by, until, digest, delivery, created_at, told_at)
			VALUES ('n-aaaaaaaa', 'e1', 'notice', 'hob', '', 'main', 'web', '', 'The backup is done.', 'hob', 'normal', '', 'held', 'quiet hours', 'quiet', ?1, '', '', ?2, 0),
			('n-bbbbbbbb', 'e2', 'notice', 'watcher', '', 'main', 'web', '', 'Mail from Eve: buy stoves', 'outside', 'normal', '', 'held', 'quiet hours', 'quiet', ?1, '', '', ?2, 0)`,
			now.Add(time.Hour).UnixMilli(), now.Add(-time.Hour).UnixMilli())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
