package app

import (
	"runtime"

	"hob/platform/host/osrun"
	"hob/platform/pim"
	"hob/platform/pim/apple"
	"hob/platform/pim/outlook"
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

// appRunner returns the runner for the mail, calendar, list, note and contact apps of this machine;
// nil if there are none. Windows supports only classic Outlook.
func (d *App) appRunner() osrun.Runner {
	if runtime.GOOS == "windows" && d.opt.Scripts == nil && !outlook.InUse() {
		return nil
	}
	return d.scripts
}

// appMailers returns the Mail app or Outlook, for users without a mail account in Hob. An app
// supports less than an account.
func (d *App) appMailers(accounts bool) []pim.Mailer {
	if accounts {
		return nil
	}
	run := d.appRunner()
	if run == nil {
		return nil
	}
	if runtime.GOOS == "windows" {
		return []pim.Mailer{outlook.NewMail(run)}
	}
	return []pim.Mailer{apple.NewMail(run)}
}

// appCalendars returns the calendars of macOS or Outlook, for users without a calendar account
// in Hob.
func (d *App) appCalendars() []pim.Calendars {
	run := d.appRunner()
	if run == nil {
		return nil
	}
	if runtime.GOOS == "windows" {
		return []pim.Calendars{outlook.NewCalendar(run)}
	}
	return []pim.Calendars{apple.NewCalendar(run)}
}

// appBooks is the address book that macOS or Outlook has, for owners who have given Hob
// no account with one.
func (d *App) appBooks() []pim.Contacts {
	run := d.appRunner()
	if run == nil {
		return nil
	}
	if runtime.GOOS == "windows" {
		return []pim.Contacts{outlook.NewContacts(run)}
	}
	return []pim.Contacts{apple.NewContacts(run)}
}
