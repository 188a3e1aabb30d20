package channels

import (
	"slices"

	"hob/platform/text/settings"
)

// Description describes a driver's channel without creating it. Setup, the doctor, the command
// line, simulations and the documentation know a driver only by its Description.
type Description struct {
	// Name is the name of the channel and of its section [channels.NAME].
	Name string
	// Title is a short description such as "a bot of your own".
	Title string
	// Systems lists the supported values of runtime.GOOS. Empty means all.
	Systems []string
	// Intro explains in 2 lines where the user gets the values of the settings.
	Intro string
	// Settings lists all keys of the section except the common ones, in the order of setup.
	Settings []settings.Setting
	// Pairs reports whether messages are ignored until the user pairs an account.
	Pairs bool
	// NextSteps returns further steps for the user that depend on a secret. Nil means that there
	// are none.
	NextSteps func(secret func(key string) string) []string
	// Manifest returns the text from which the platform creates its side of the channel, for
	// example a Slack app. called is Hob's name. Nil means that there is no such text.
	Manifest func(called string) string
	// OnDesktop reports whether the channel is enabled by default, without a section, on a machine
	// with a desktop.
	OnDesktop bool
	// FixedRecipient reports whether the configuration names the recipient, so that sending needs
	// no paired account.
	FixedRecipient bool
	// ReadsReminders and ReadsNotes report whether messages are entries of the user's task lists or
	// notes. Text that tools write into these lists or notes is recorded, so that it does not count
	// as the user's words.
	ReadsReminders, ReadsNotes bool
	// NotesFolder reads, from the channel's section, the name of the channel's folder within [pim]
	// notes_folder. File tools and commands must not access the folder. Nil means that the channel
	// has none.
	NotesFolder func(decode func(any) error) (string, error)
	// Permissions lists the operating system permissions that the channel needs.
	Permissions []Permission
}

// Permission is a permission that a channel needs.
type Permission struct {
	ID string // see platform/host/permission
	// Without is the effect of a missing permission: "macOS hides the messages from Hob".
	Without string
}

// AllowSetting returns the setting for additional accepted senders. Setup does not ask for it: by
// default Hob accepts only the user. ids describes the ids of senders.
func AllowSetting(ids string) settings.Setting {
	return settings.Setting{Key: "allow", Kind: settings.Text, List: true, Optional: true, Unasked: true, Title: "Who else may write to Hob on this channel? " + ids}
}

// NotesFolders lists the folders of the enabled channels within [pim] notes_folder. It omits
// channels with an invalid section, because they do not run.
func NotesFolders(drivers []Driver, section Section) (out []string) {
	for _, d := range drivers {
		k := d.Describe()
		if k.NotesFolder == nil {
			continue
		}
		decode, ok := section(k.Name)
		if !ok {
			continue
		}
		if folder, err := k.NotesFolder(decode); err == nil {
			out = append(out, folder)
		}
	}
	return out
}

// Descriptions returns the descriptions of the drivers, in the order of the drivers.
func Descriptions(drivers []Driver) (out []Description) {
	for _, d := range drivers {
		out = append(out, d.Describe())
	}
	return out
}

// Names lists the channel names of the drivers in alphabetical order.
func Names(drivers []Driver) (out []string) {
	for _, k := range Descriptions(drivers) {
		out = append(out, k.Name)
	}
	slices.Sort(out)
	return out
}

// WebhookReceivers returns the channels in opened that receive webhooks.
func WebhookReceivers(opened map[string]Channel) map[string]WebhookReceiver {
	out := map[string]WebhookReceiver{}
	for name, ch := range opened {
		if h, ok := ch.(WebhookReceiver); ok {
			out[name] = h
		}
	}
	return out
}

// RunningWith lists the running channels whose driver description satisfies trait.
func (m *Manager) RunningWith(drivers []Driver, trait func(Description) bool) (out []string) {
	for _, d := range drivers {
		if k := d.Describe(); trait(k) && m.Has(k.Name) {
			out = append(out, k.Name)
		}
	}
	return out
}

// ReplaceDrivers replaces each driver in list that has the name of a driver in own.
func ReplaceDrivers(list, own []Driver) []Driver {
	for _, d := range own {
		for i, old := range list {
			if old.Describe().Name == d.Describe().Name {
				list[i] = d
			}
		}
	}
	return list
}
