package daemon

import (
	"runtime"

	"hob/platform/osrun"
	"hob/platform/pim"
	"hob/platform/pim/apple"
	"hob/platform/pim/outlook"
)

// appScripts is the one runner of all that speaks to the programs of this machine,
// so that each of them is spoken to by one script at a time. A command without the
// daemon, played time, and an owner who does not want it ([pim] apps), leave them alone.
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

// apps runs what speaks to the owner's mail, calendar, lists, notes and people in programs
// of this machine, nil where there are none: Windows has those of classic Outlook only.
func (d *Daemon) apps() osrun.Runner {
	if runtime.GOOS == "windows" && d.opt.Scripts == nil && !outlook.InUse() {
		return nil
	}
	return d.scripts
}

// appMailers is the Mail app or Outlook, for owners who have given Hob no account: what goes
// through it is less than what an account can do.
func (d *Daemon) appMailers(accounts bool) []pim.Mailer {
	if accounts {
		return nil
	}
	run := d.apps()
	if run == nil {
		return nil
	}
	if runtime.GOOS == "windows" {
		return []pim.Mailer{outlook.NewMail(run)}
	}
	return []pim.Mailer{apple.NewMail(run)}
}

// appCalendars are those that macOS or Outlook has, for owners who have given Hob no
// account with calendars.
func (d *Daemon) appCalendars() []pim.Calendars {
	run := d.apps()
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
func (d *Daemon) appBooks() []pim.Contacts {
	run := d.apps()
	if run == nil {
		return nil
	}
	if runtime.GOOS == "windows" {
		return []pim.Contacts{outlook.NewContacts(run)}
	}
	return []pim.Contacts{apple.NewContacts(run)}
}
