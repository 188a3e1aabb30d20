package app

import (
	"context"
	"path/filepath"
	"sync"

	"hob/autonomy/bus"
	"hob/autonomy/mind/goals"
	"hob/autonomy/notify"
	"hob/autonomy/service"
	"hob/autonomy/session"
	"hob/autonomy/skills"
	"hob/autonomy/turn"
	"hob/autonomy/turn/results"
	channelsall "hob/channels/all"
	"hob/knowledge/ingest"
	"hob/tools"
	"hob/tools/a2a"
	toolsall "hob/tools/all"
	"hob/tools/database"
	"hob/tools/files"
	"hob/tools/mcp"
	"hob/tools/mcp/servers"
	"hob/tools/shell"
	"hob/tools/social"
	toolsweb "hob/tools/web"
)

// openTools makes messages searchable and creates the catalog.
func (d *App) openTools(ctx context.Context) (err error) {
	if d.library, err = session.NewLibrary(d.sessions, d.base, session.LibraryOptions{Realm: d.crew.RealmOf, About: d.crew.AboutTurn}); err != nil {
		return err
	}
	d.openErasing()
	c, own := d.opt.Config.Files, channelsall.ProtectedPaths(d.opt.Paths, d.opt.Config)
	d.files, err = files.New(files.Options{
		Allowed: c.Allowed, Trusted: c.Trusted, Drop: c.Drop, UndoDir: d.opt.Paths.UndoDir(), Home: d.opt.UserHome, Store: d.store, Protected: own, Index: d.fileIndex(),
	})
	if err != nil {
		return err
	}
	commands, err := shell.Open(shell.OpenOptions{Config: d.opt.Config, Home: d.opt.UserHome, Protected: own, Helper: d.opt.Helper, Readable: []string{d.opt.Paths.SkillsDir()}})
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
	deps := d.personalDeps()
	deps.Documents = ingest.Requests{Library: d.documents, Sync: d.folders, Files: d.files, Network: d.network}
	deps.Knowledge, deps.Linker, deps.Forgetting, deps.Conversations = d.base, d.graph, d.erasing, d.library
	d.replies = social.NewReplier(social.ReplierOptions{
		Mailers: deps.Mail.Mailers, People: deps.Mail.People, State: bus.NewChannelState(d.store, "auto_reply"), Paused: d.bus.Pause.IsOn, Zone: d.zone, Log: d.opt.Log,
		Allowed: service.ReplyPolicy{Guard: d.guard, Store: d.store, Tool: func() tools.Tool { t, _ := d.catalog.Get("send_email"); return t }}.Allowed, Notify: func(ctx context.Context, key, text string) error { return d.intake.Notify(ctx, key, text) },
	})
	deps.Messages = social.Deps{Conversations: d.library, MessagesDB: social.MessagesDatabase(d.opt.UserHome), Replies: d.replies, Scripts: d.scripts}
	deps.Goals, deps.Senders = goals.ToolGoals{Goals: d.goals, Bus: d.bus, Facts: d.goalFacts(), Zone: d.zone, Offline: d.models.LooksOffline}, bus.Senders
	deps.Engine, deps.Notices, deps.Crew, deps.Post, deps.Briefs = service.NewToolEngine(d.lateService), notify.ToolNotices{Notifier: d.notices}, d.crew, d.newSender(), []tools.BriefSource{goals.Brief{Store: d.store}}
	deps.Web, deps.Digests, deps.Shell, deps.Browser = toolsweb.Open(d.network, d.opt.Config.Search, d.secrets.ResolveContext, d.opt.Reader), bus.NewChannelState(d.store, "content_digest"), commands, d.browserDeps()
	deps.Lists, deps.NewReminders, deps.Notes, deps.NewNotes = d.toolLists, d.opt.Config.Pim.Reminders, d.toolNotes, d.opt.Config.Pim.Notes
	deps.Databases, deps.Connect = database.Deps{Databases: d.opt.Config.Databases, Secret: d.secrets.ResolveContext, Home: d.opt.UserHome, Own: own}, servers.ConnectDeps{Config: d.latestConfig, Asked: d.guard.WasAsked}
	deps.Desktop, deps.Media, deps.Currency = screen, media, sync.OnceValue(func() string { return d.opt.Config.CurrencyIn(d.zone()) })
	d.peers = a2a.New(a2a.Options{Store: d.store, Network: d.network, Agents: d.opt.Config.A2AAgents, Local: d.crew, LocalNames: d.opt.Config.AgentNames(), Secret: d.secrets.ResolveContext, Resume: d.bus.Inbox.ResumeTx, Publish: d.bus.Feed.Publish, Log: d.opt.Log})
	deps.Agents, deps.KeepPicture, deps.DocumentReader, d.toolJobs = d.peers, turn.PictureFolder(d.opt.Paths.Pictures()).KeepPicture, d.opt.Reader, deps.Jobs(d.bus.Pause.Current)
	list := toolsall.All(deps)
	if d.results, err = results.Open(filepath.Join(d.opt.Paths.Data, "results"), d.opt.Log); err != nil {
		return err
	}
	d.skills = skills.Open(d.opt.Paths, d.vectors, func() []tools.Prompt { return d.mcp.Prompts() }, d.opt.Log)
	list = append(list, results.Tool(d.results, d.bus.Ledger.CallWithOrigins), d.skills.Tool())
	d.tools = append(list, d.opt.Tools...)
	if d.opt.Play != nil {
		for i, t := range d.tools {
			d.tools[i] = d.opt.Play.Tool(t)
		}
	}
	if d.catalog, err = tools.NewCatalog(d.tools...); err == nil {
		d.mcp, err = mcp.Open(ctx, mcp.Options{Store: d.store, Catalog: d.catalog, Started: d.opt.Config, Config: d.latestConfig, Off: d.opt.Play != nil, Secret: d.secrets.ResolveContext, Keychain: d.secrets.Secrets(), Redact: d.redact.Add, Network: d.network, Runner: commands.Runner, Dir: filepath.Join(d.opt.Paths.Data, "mcp"), KeepPicture: turn.PictureFolder(d.opt.Paths.Pictures()).KeepPicture, Watched: d.watchers.HasTopic, Changed: d.watchers.AnnounceChange, Version: d.opt.Version, Log: d.opt.Log})
	}
	return err
}
