// Package all lists the kinds of watchers and contains nothing else. A new kind adds one line to
// Drivers.
package all

import (
	"slices"

	"hob/watchers"
	"hob/watchers/calendar"
	"hob/watchers/cron"
	"hob/watchers/email"
	"hob/watchers/feed"
	"hob/watchers/file"
	"hob/watchers/github"
	"hob/watchers/mcpresource"
	"hob/watchers/message"
	"hob/watchers/oneshot"
	"hob/watchers/page"
	"hob/watchers/search"
)

// Drivers returns one driver of each kind. Call it once per process, because drivers may own
// resources that their watchers share.
func Drivers() []watchers.Driver {
	return []watchers.Driver{
		file.New(),
		email.New(),
		message.New(),
		message.NewIntents(),
		calendar.New(),
		feed.New(),
		page.New(),
		search.New(),
		github.New(),
		mcpresource.New(),
		cron.New(),
		oneshot.New(),
	}
}

// Kinds describes the kinds of watchers, in the order of display.
func Kinds() (out []watchers.Description) {
	for _, d := range Drivers() {
		out = append(out, d.Describe())
	}
	return out
}

// KindNames lists the names of the kinds in alphabetical order.
func KindNames() (out []string) {
	for _, k := range Kinds() {
		out = append(out, k.Kind)
	}
	slices.Sort(out)
	return out
}

// Folders returns a new driver of the kind that watches folders.
func Folders() watchers.Driver { return file.New() }
