package app

import (
	"runtime"
	"time"

	"hob/platform/host/osrun"
	"hob/platform/pim"
	"hob/platform/pim/apple"
	"hob/platform/pim/markdown"
	"hob/platform/pim/netaccount"
	"hob/platform/pim/outlook"
)

// taskLists returns the user's task lists other than Hob's reminders: in accounts and in apps of
// this machine.
func (d *App) taskLists() []pim.Reminders {
	return listsOf(d.accountsWith("caldav")(), d.appRunner(), d.zone())
}

func listsOf(accounts []pim.Account, run osrun.Runner, zone *time.Location) (out []pim.Reminders) {
	for _, a := range accounts {
		out = append(out, netaccount.NewReminders(a, zone))
	}
	switch {
	case run == nil:
	case runtime.GOOS == "windows":
		out = append(out, outlook.NewReminders(run, zone))
	default:
		out = append(out, apple.NewReminders(run, zone))
	}
	return out
}

// noteStores returns the user's notes other than Hob's: a folder, and apps of this machine.
// Simulations do not use the folder.
func (d *App) noteStores() []pim.Notes {
	dir := d.opt.Config.Pim.NotesFolder
	if d.opt.Play != nil {
		dir = ""
	}
	return notesOf(dir, d.appRunner())
}

func notesOf(dir string, run osrun.Runner) (out []pim.Notes) {
	if dir != "" {
		out = append(out, markdown.New(dir))
	}
	switch {
	case run == nil:
	case runtime.GOOS == "windows":
		out = append(out, outlook.NewNotes(run))
	default:
		out = append(out, apple.NewNotes(run))
	}
	return out
}
