package app

import (
	"context"
	"path/filepath"
	"runtime"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/config"
	"hob/autonomy/notify"
	"hob/channels"
	channelsall "hob/channels/all"
	"hob/platform/host/osrun"
	"hob/platform/host/system"
	"hob/platform/pim"
	"hob/platform/pim/listfeed"
	"hob/platform/pim/sources"
	"hob/platform/store"
	"hob/tools/calendar"
	"hob/tools/contacts"
	"hob/tools/mail"
)

// appScripts returns the single runner for scripts of the apps on this machine, so that each
// app runs one script at a time. It is disabled in commands without the daemon, in simulations,
// and if [pim] apps is off.
func appScripts(o Options) osrun.Runner {
	switch {
	case !o.Config.Pim.Apps:
		return nil
	case o.Scripts != nil:
		return o.Scripts
	case o.InProcess || o.Play != nil || runtime.GOOS != "darwin" && runtime.GOOS != "windows":
		return nil
	}
	return osrun.NewScripts(osrun.Options{Log: o.Log})
}

// openPim opens the user's accounts, and the apps of this machine. Simulations do not use the folder
// of notes.
func (d *App) openPim() {
	o := sources.Options{Accounts: d.completeAccounts, Apps: d.scripts, NotesFolder: d.opt.Config.Pim.NotesFolder, Zone: func() *time.Location { return d.zone() }}
	if d.opt.Scripts == nil {
		o.AppsInUse = sources.SupportedAppsInUse
	}
	if d.opt.Play != nil {
		o.NotesFolder = ""
	}
	d.pim = sources.New(o)
}

// completeAccounts lists the user's accounts without missing keys.
func (d *App) completeAccounts() (out []pim.Account) {
	for _, c := range d.opt.Config.Accounts {
		if c.MissingKeys() == "" {
			out = append(out, d.accountServers(c))
		}
	}
	return out
}

// findAccount returns one of the user's accounts with a server, for the watchers. The password is
// resolved at sign-in.
func (d *App) findAccount(name, server string) (pim.Account, error) {
	return d.accountOf(d.opt.Config, name, server)
}

func (d *App) accountOf(c *config.Config, name, server string) (pim.Account, error) {
	a, err := c.Account(name, func(a config.Account) bool { return a.HasServer(server) })
	if err != nil {
		return pim.Account{}, err
	}
	return d.accountServers(a), nil
}

func (d *App) accountServers(c config.Account) pim.Account {
	a := c.Account
	a.Secret = func(ctx context.Context) (string, error) { return d.resolveSecretContext(ctx, c.Password) }
	if d.opt.Play != nil {
		a = d.opt.Play.Account(a)
	}
	return a
}

func (d *App) calendarDeps() calendar.Deps {
	return calendar.Deps{
		Accounts: func() []pim.Account { return d.pim.WithServer(pim.CalDAV) }, Apps: d.pim.AppCalendars, Calendars: d.pim.Calendars, Mailers: d.pim.Mailers, People: d.searchContacts,
		Now: func() time.Time { return time.Now().In(d.zone()) },
	}
}

func (d *App) mailDeps() mail.Deps {
	return mail.Deps{Accounts: func() []pim.Account { return d.pim.WithServer(pim.IMAP) }, Matters: d.mailRelevance, Mailers: d.pim.Mailers, Attach: d.readAttachment, People: d.searchContacts}
}

// searchContacts searches a name in the address books.
func (d *App) searchContacts(ctx context.Context, words string) ([]pim.Contact, error) {
	return contacts.Find(ctx, d.pim.Contacts(), words, 20)
}

// readAttachment reads a mail attachment from a file that the user allows Hob to read.
func (d *App) readAttachment(ctx context.Context, path string) (pim.Attachment, error) {
	doc, err := d.files.ReadDocument(ctx, path, pim.MaxFileBytes)
	if err != nil {
		return pim.Attachment{}, err
	}
	return pim.Attachment{Name: filepath.Base(doc.Path), Data: doc.Content}, nil
}

// mailRelevance returns the function that explains why a mail is important.
func (d *App) mailRelevance(ctx context.Context) (func(pim.Message) string, error) {
	known, err := d.graph.KnownPeople(d.store.Reader(ctx))
	if err != nil {
		return nil, err
	}
	o, err := notify.OptionsOf(d.opt.Config.Notify)
	return notify.MailRelevance(o.Rules, known), err
}

// contactAliases returns the other names, addresses and numbers of a person.
func (d *App) contactAliases(q store.Querier, name string) []string {
	out, err := d.graph.Aliases(q, name)
	if err != nil {
		d.opt.Log.Warn("unknown person", "err", err)
	}
	return out
}

// toolLists returns the lists that tools write to.
func (d *App) toolLists() []pim.Reminders {
	out := d.pim.Reminders()
	for _, name := range d.runningChannels(func(c channels.Description) bool { return c.ReadsReminders }) {
		out = listfeed.RecordReminders(out, bus.NewChannelState(d.store, name))
	}
	return out
}

// toolNotes returns the notes that tools write to.
func (d *App) toolNotes() []pim.Notes {
	out := d.pim.Notes()
	for _, name := range d.runningChannels(func(c channels.Description) bool { return c.ReadsNotes }) {
		out = listfeed.RecordNotes(out, bus.NewChannelState(d.store, name))
	}
	return out
}

// runningChannels lists the running channels with a trait.
func (d *App) runningChannels(trait func(channels.Description) bool) (out []string) {
	for _, dr := range channelsall.Drivers() {
		if c := dr.Describe(); trait(c) && d.channels != nil && d.channels.Has(c.Name) {
			out = append(out, c.Name)
		}
	}
	return out
}

// protectedPaths lists the places that no tool for files and no command accesses, even within allowed
// folders: Hob's own files, and the notes with which the user talks to Hob.
func protectedPaths(p system.Paths, c *config.Config) []string {
	out := p.Own()
	if c.Pim.NotesFolder == "" {
		return out
	}
	for _, folder := range channels.NotesFolders(channelsall.Drivers(), func(name string) (func(any) error, bool) {
		s, ok := c.Channel(name)
		return s.Decode, ok && s.Enabled
	}) {
		out = append(out[:len(out):len(out)], filepath.Join(c.Pim.NotesFolder, folder))
	}
	return out
}
