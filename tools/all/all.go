// Package all lists Hob's tools, their tables and the sections of the daily briefing. A new
// category of tools adds one line to each list.
package all

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"hob/knowledge"
	"hob/platform/host/gitrepo"
	"hob/platform/pim"
	"hob/platform/pim/sources"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/erase"
	"hob/tools"
	"hob/tools/a2a"
	"hob/tools/browser"
	"hob/tools/calendar"
	"hob/tools/canvas"
	"hob/tools/contacts"
	"hob/tools/crew"
	"hob/tools/database"
	"hob/tools/desktop"
	"hob/tools/files"
	"hob/tools/health"
	"hob/tools/mail"
	"hob/tools/mcp"
	"hob/tools/mcp/servers"
	"hob/tools/media"
	"hob/tools/memory"
	"hob/tools/money"
	"hob/tools/shell"
	"hob/tools/social"
	"hob/tools/system"
	"hob/tools/tasks"
	"hob/tools/travel"
	"hob/tools/watch"
	"hob/tools/weather"
	"hob/tools/web"
	"hob/tools/web/research"
	"hob/watchers"
)

// Watchers manages watchers, schedules and reminders; *watchers.Manager implements it.
type Watchers interface {
	tasks.Clock
	watch.Manager
}

// Deps are the dependencies of the tools. All fields except Currency and Now are required, unless
// their comment says otherwise.
type Deps struct {
	Store     *store.Store
	Knowledge *knowledge.Base
	Files     *files.Files
	Watchers  Watchers
	Engine    system.Engine
	// Goals stores goals and Notices stores notifications. If one is nil, its tools are omitted.
	Goals   watch.Goals
	Notices watch.Notices
	// Senders lists the accounts of other people who have written. If it is nil, there are none.
	Senders func(q store.Querier) ([]watchers.Sender, error)
	// Crew delegates tasks. If it is nil, its tools are omitted.
	Crew crew.Engine
	// Agents delegates tasks to other agents. If it is nil or no agent is configured, its tool is
	// omitted.
	Agents *a2a.Client
	// Post sends messages to other people. If it is nil, its tools are omitted.
	Post social.Sender
	// Messages are the chats that the tools for messages read. The accounts come from Mail and
	// Calendar, and Store and Sender are set by All.
	Messages social.Deps
	// Web accesses the web. Without a network client, its tools are omitted.
	Web web.Deps
	// Digests stores which news content_digest has shown.
	Digests research.StateStore
	// Shell assesses and runs commands. Without an assessor, its tool is omitted.
	Shell shell.Deps
	// Conversations searches past messages. If it is nil, they cannot be searched.
	Conversations memory.Conversations
	// Forgetting removes forgotten text from all stores. If it is nil, forgetting only deletes
	// facts.
	Forgetting memory.Forgetting
	// Calendar and Mail read the owner's accounts. Their tools are omitted if Accounts is nil.
	Calendar calendar.Deps
	Mail     mail.Deps
	// Contacts reads the owner's address books. The tool is omitted if Books is nil.
	Contacts contacts.Deps
	// Lists returns the owner's to-do lists other than Hob's reminders. Notes returns the owner's
	// notes other than Hob's own. Both may be nil.
	Lists func() []pim.Reminders
	Notes func() []pim.Notes
	// NewReminders and NewNotes select the store for new items: "" or "hob" selects Hob's own
	// store.
	NewReminders, NewNotes string
	// Databases are the databases that may be read. If there are none, the tools are omitted.
	Databases database.Deps
	// Connect asks the user to connect services. Without a configuration, its tool is omitted.
	Connect servers.ConnectDeps
	// Rates fetches exchange rates. Without a network client, its tool is omitted.
	Rates money.Rates
	// Weather queries the forecast. Without a network client, its tool is omitted.
	Weather weather.Deps
	// Travel finds routes and flights. Its Store, Place and Forecast are filled in.
	Travel travel.Deps
	// Browser controls Hob's browser. Its tools are omitted if there is none.
	Browser browser.Deps
	// Desktop accesses the owner's desktop. If a field is nil, its tools are omitted.
	Desktop desktop.Deps
	// Media controls players, sound and speech. If a field is nil, its tools are omitted.
	Media media.Deps
	// Briefs are additional sections of the daily briefing.
	Briefs []tools.BriefSource
	// Linker is the knowledge graph. If it is nil, the tools that use it are omitted.
	Linker memory.Graph
	// Documents ingests documents. If it is nil, the tool that uses it is omitted.
	Documents memory.Documents
	// Currency returns the ISO 4217 code for expenses that state no currency. If it is nil, the
	// tools use their default.
	Currency func() string
	// KeepPicture saves a picture and returns its path. If it is nil, no charts are drawn.
	KeepPicture func(name string, data []byte) (string, error)
	// DocumentReader is the command that reads PDFs in a separate process. If it is empty, they
	// cannot be read.
	DocumentReader []string
	// Log receives the messages of background work. If it is nil, they are discarded.
	Log *slog.Logger
	// Now returns the current time in the owner's zone, for the briefing. The default is the
	// process's clock in the zone of the requested day.
	Now func() time.Time
}

// All returns all tools.
func All(d Deps) []tools.Tool {
	var out []tools.Tool
	notes := memory.Deps{Knowledge: d.Knowledge, Conversations: d.Conversations, Forgetting: d.Forgetting, Linker: d.Linker, Documents: d.Documents, Store: d.Store, Shelves: d.Notes, NewIn: d.NewNotes, Track: d.Files.TrackChanges}
	for _, category := range [][]tools.Tool{
		d.Files.Tools(),
		memory.Tools(notes),
		tasks.Tools(tasks.Deps{Knowledge: d.Knowledge, Clock: d.Watchers, Store: d.Store, Lists: d.Lists, NewIn: d.NewReminders, Briefs: Briefs(d), Folders: d.Files, Repository: d.readRepository(), Past: pastWeek(d), Ahead: nextWeek(d)}),
		watch.Tools(watch.Deps{Manager: d.Watchers, Goals: d.Goals, Notices: d.Notices, Senders: d.Senders}),
		money.Tools(money.Deps{Store: d.Store, Knowledge: d.Knowledge, Currency: d.Currency, Read: d.Files.ReadDocument, Pictures: d.Media.Reader, Helper: d.DocumentReader, Keep: d.KeepPicture}),
		health.Tools(health.Deps{Store: d.Store, Clock: d.Watchers, Read: d.Files.ReadDocument, Keep: d.KeepPicture}),
		canvas.Tools(canvas.Deps{Store: d.Store}),
		system.Tools(d.Engine),
	} {
		out = append(out, category...)
	}
	if d.Web.Network != nil {
		out = append(append(out, web.Tools(d.Web)...), research.Tools(d.researchDeps(notes))...)
	}
	if d.Browser.Browser != nil {
		out = append(out, browser.Tools(d.Browser)...)
	}
	if d.Shell.Judge != nil {
		d.Shell.Track = d.Files.TrackChanges
		out = append(out, shell.Tools(d.Shell)...)
	}
	if d.Calendar.Accounts != nil {
		out = append(out, calendar.Tools(d.Calendar)...)
	}
	if d.Mail.Accounts != nil {
		d.Mail.Network = d.Web.Network
		out = append(out, mail.Tools(d.Mail)...)
	}
	if d.Contacts.Books != nil {
		out = append(out, contacts.Tools(d.Contacts)...)
	}
	if d.Rates.Network != nil {
		out = append(out, d.Rates.Tools()...)
	}
	if d.Weather.Network != nil {
		out = append(out, weather.Tools(d.Weather)...)
	}
	out = append(out, travel.Tools(d.travelDeps())...)
	out = append(out, database.Tools(d.Databases)...)
	out = append(out, servers.ConnectTool(d.Connect)...)
	out = append(out, desktop.Tools(d.Desktop)...)
	out = append(out, media.Tools(d.Media)...)
	out = append(out, social.Tools(d.socialDeps())...)
	if d.Crew != nil {
		out = append(out, crew.Tools(d.Crew, d.Agents.Names())...)
	}
	return append(out, d.Agents.Tools()...)
}

// readRepository returns the reader of git repositories; nil if no command may run.
func (d Deps) readRepository() func(ctx context.Context, dir string, since time.Time) (gitrepo.Status, error) {
	if d.Shell.Judge == nil || d.Shell.Runner == nil {
		return nil
	}
	return gitrepo.Reader{Judge: d.Shell.Judge, Runner: d.Shell.Runner}.Status
}

// socialDeps returns the dependencies of the tools for messages.
func (d Deps) socialDeps() social.Deps {
	out := d.Messages
	out.Sender, out.Store = d.Post, d.Store
	out.Mailers, out.Calendars, out.People = d.Mail.Mailers, d.Calendar.Calendars, d.Mail.People
	return out
}

func (d Deps) researchDeps(notes memory.Deps) research.Deps {
	out := research.Deps{
		Web: d.Web, Notes: notes, Reports: d.Files, Shown: d.Digests, Followed: func(ctx context.Context) ([]watchers.Spec, error) {
			return watch.FollowedNews(d.Watchers, d.Store.Reader(ctx))
		},
	}
	if p, ok := d.Browser.Browser.(interface {
		PrintPDF(ctx context.Context, document string) ([]byte, error)
	}); ok {
		out.Print = p.PrintPDF
	}
	return out
}

// Briefs returns the sections of the daily briefing, in order.
func Briefs(d Deps) []tools.BriefSource {
	return append(
		Day(d),
		append(slices.Clone(d.Briefs), health.Brief{Deps: health.Deps{Store: d.Store}}, money.Brief{Store: d.Store})...,
	)
}

// travelDeps completes the dependencies of the travel tools.
func (d Deps) travelDeps() travel.Deps {
	t := d.Travel
	t.Store, t.Place = d.Store, d.Weather.Place
	if d.Weather.Network != nil {
		t.Forecast = func(ctx context.Context, place string, days int) (travel.Forecast, error) {
			o, err := d.Weather.Outlook(ctx, place, days)
			return travel.Forecast(o), err
		}
	}
	return t
}

// pastWeek returns the sections of the weekly review about the past, in order.
func pastWeek(d Deps) []tools.BriefSource {
	out := []tools.BriefSource{
		tasks.DoneTasks{Store: d.Store},
		tasks.OverdueTasks{Store: d.Store, Lists: d.Lists, Now: d.Now},
		money.WeekBrief{Store: d.Store},
		health.WeekBrief{Deps: health.Deps{Store: d.Store}},
	}
	if d.Goals != nil {
		out = append(out, watch.GoalWeek{Goals: d.Goals, Store: d.Store})
	}
	return out
}

// nextWeek returns the sections of the weekly review about the coming days, in order.
func nextWeek(d Deps) (out []tools.BriefSource) {
	if d.Calendar.Accounts != nil {
		out = append(out, calendar.WeekBrief{Deps: d.Calendar})
	}
	return append(out, tasks.DueTasks{Store: d.Store}, tasks.ClockBrief{Clock: d.Watchers, Reminders: true})
}

// Day returns the briefing sections about a day, in order.
func Day(d Deps) (out []tools.BriefSource) {
	if d.Calendar.Accounts != nil {
		out = append(out, calendar.Brief{Deps: d.Calendar})
	}
	out = append(
		out,
		tasks.TaskBrief{Store: d.Store, Now: d.Now},
		tasks.ClockBrief{Clock: d.Watchers, Reminders: true},
		tasks.ClockBrief{Clock: d.Watchers},
	)
	if d.Lists != nil {
		out = append(out, tasks.ListBrief{Lists: d.Lists, Now: d.Now})
	}
	if d.Mail.Accounts != nil {
		out = append(out, mail.Brief{Deps: d.Mail})
	}
	if d.Weather.Network != nil {
		out = append(out, weather.Brief{Deps: d.Weather})
	}
	return out
}

// Migrations returns the tables of the tools and of the shared memory.
func Migrations() []store.MigrationSet {
	sets := knowledge.Migrations()
	for _, more := range [][]store.MigrationSet{memory.Migrations(), tasks.Migrations(), money.Migrations(), health.Migrations(), travel.Migrations(), canvas.Migrations(), files.Migrations(), mail.Migrations(), mcp.Migrations(), a2a.Migrations(), social.Migrations()} {
		sets = append(sets, more...)
	}
	return sets
}

// Erasers returns the erasers for the tables and files of the tools.
func Erasers(f *files.Files) []erase.Eraser {
	return []erase.Eraser{memory.Eraser(), tasks.Eraser(), money.Eraser(), health.Eraser(), travel.Eraser(), canvas.Eraser(), mail.Eraser(), mcp.Eraser(), a2a.Eraser(), social.Eraser(), f.Eraser()}
}

// WithSources returns the dependencies with the owner's email, calendars and contacts from s. now
// returns the time in the owner's zone, and matters becomes mail.Deps.Matters.
func (d Deps) WithSources(s *sources.Sources, now func() time.Time, matters func(context.Context) (func(pim.Message) string, error)) Deps {
	people := func(ctx context.Context, words string) ([]pim.Contact, error) {
		return contacts.Find(ctx, s.Contacts(), words, 20)
	}
	d.Calendar = calendar.Deps{
		Accounts: func() []pim.Account { return s.WithServer(pim.CalDAV) }, Apps: s.AppCalendars, Feeds: s.Feeds, Calendars: s.Calendars, Mailers: s.Mailers, People: people, Now: now,
	}
	d.Mail = mail.Deps{Accounts: func() []pim.Account { return s.WithServer(pim.IMAP) }, Matters: matters, Mailers: s.Mailers, Attach: d.Files.ReadAttachment, People: people}
	d.Mail.Calendars, d.Mail.Now = s.Calendars, now
	d.Mail.Save = func(ctx context.Context, folder, name string, content []byte, list []provenance.Origin) (out mail.SavedFile, err error) {
		out.Path, out.Shown, out.Undo, err = d.Files.SaveUntrusted(ctx, folder, name, content, list)
		return out, err
	}
	d.Mail.UndoSave = d.Files.UndoSave
	d.Mail.Rules = mail.NewRules(mail.RulesOptions{Store: d.Store, Accounts: d.Mail.Accounts, Log: d.Log})
	d.Contacts = contacts.Deps{Books: s.Contacts}
	return d
}

// Jobs returns the background work of the tools, which pause stops. Each job runs until its context
// ends.
func (d Deps) Jobs(pause mail.PauseState) (out []func(context.Context) error) {
	if d.Mail.Rules != nil {
		out = append(out, func(ctx context.Context) error { return d.Mail.Rules.Run(ctx, pause) })
	}
	return out
}
