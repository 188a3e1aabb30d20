package daemon

import (
	"runtime"

	"hob/platform/pim"
	"hob/platform/pim/apple"
	"hob/platform/pim/internet"
	"hob/platform/pim/markdown"
	"hob/platform/pim/outlook"
)

// lists are the owner's lists of things to do besides Hob's own reminders: those of his
// accounts, and of the programs of this machine.
func (d *Daemon) lists() (out []pim.Reminders) {
	for _, a := range d.accounts("caldav")() {
		out = append(out, internet.NewReminders(a, d.zone()))
	}
	switch run := d.apps(); {
	case run == nil:
	case runtime.GOOS == "windows":
		out = append(out, outlook.NewReminders(run, d.zone()))
	default:
		out = append(out, apple.NewReminders(run, d.zone()))
	}
	return out
}

// notes are the owner's notes besides Hob's own: a folder of his, and those of the
// programs of this machine. Played time leaves his folder alone.
func (d *Daemon) notes() (out []pim.Notes) {
	if dir := d.opt.Config.Pim.NotesFolder; dir != "" && d.opt.Play == nil {
		out = append(out, markdown.New(dir))
	}
	switch run := d.apps(); {
	case run == nil:
	case runtime.GOOS == "windows":
		out = append(out, outlook.NewNotes(run))
	default:
		out = append(out, apple.NewNotes(run))
	}
	return out
}
