package app

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"hob/autonomy/mind/goals"
	"hob/autonomy/notify"
	"hob/autonomy/session"
	"hob/autonomy/turn/results"
	"hob/platform/host/system"
	"hob/tools"
	toolsall "hob/tools/all"
	"hob/tools/contacts"
	"hob/tools/files"
	"hob/tools/shell"
)

// openTools makes messages searchable and creates the catalogue.
func (d *App) openTools(context.Context) (err error) {
	if d.library, err = session.NewLibrary(d.sessions, d.base, session.LibraryOptions{Realm: d.crew.RealmOf, About: d.crew.AboutTurn}); err != nil {
		return err
	}
	d.facts = d.goalFacts()
	d.openErasing()
	c := d.opt.Config.Files
	d.files, err = files.New(files.Options{
		Allowed: c.Allowed, Trusted: c.Trusted, Drop: c.Drop, UndoDir: d.opt.Paths.UndoDir(), Home: d.opt.UserHome, Store: d.store,
		Protected: protectedPaths(d.opt.Paths, d.opt.Config), Index: d.fileIndex(),
	})
	if err != nil {
		return err
	}
	commands, err := shell.Open(shell.OpenOptions{
		Config: d.opt.Config, Home: d.opt.UserHome, Protected: protectedPaths(d.opt.Paths, d.opt.Config), Helper: d.opt.Helper,
	})
	if err != nil {
		return err
	}
	if err := d.openDocuments(); err != nil {
		return err
	}
	screen, media, err := d.openMachine()
	if err != nil {
		return err
	}
	list := toolsall.All(toolsall.Deps{
		Documents: d.documentRequests(), Calendar: d.calendarDeps(), Mail: d.mailDeps(), Contacts: contacts.Deps{Books: d.pim.Contacts}, Weather: d.weatherDeps(), Briefs: []tools.BriefSource{goals.Brief{Store: d.store}},
		Store: d.store, Knowledge: d.base, Files: d.files, Watchers: d.watchers, Engine: d, Goals: goals.ToolGoals{Goals: d.goals, Bus: d.bus, Facts: d.facts, Zone: d.zone, Offline: d.models.LooksOffline}, Notices: notify.ToolNotices{Notifier: d.notices}, Crew: d.crew, Post: d.newSender(), Forgetting: d.erasing, Conversations: d.library, Web: d.webDeps(), Shell: commands,
		Linker: d.graph,
		Lists:  d.toolLists, NewReminders: d.opt.Config.Pim.Reminders, Notes: d.toolNotes, NewNotes: d.opt.Config.Pim.Notes,
		Browser:  d.browserDeps(),
		Desktop:  screen,
		Media:    media,
		Currency: sync.OnceValue(d.userCurrency),
	})
	if d.results, err = results.New(results.Options{Dir: filepath.Join(d.opt.Paths.Data, "results")}); err != nil {
		return err
	}
	if err := d.results.Sweep(); err != nil {
		d.opt.Log.Warn("cannot remove old results", "err", err)
	}
	list = append(list, results.Tool(d.results, d.bus.Ledger.CallWithOrigins))
	d.tools = d.playedTools(append(list, d.opt.Tools...))
	d.catalogue, err = tools.NewCatalogue(d.tools...)
	return err
}

// userCurrency returns the configured currency, otherwise the currency of the user's country.
func (d *App) userCurrency() string {
	if c := d.opt.Config.Agent.Currency; c != "" {
		return strings.ToUpper(c)
	}
	return system.Currency(os.Getenv, d.zone().String())
}
