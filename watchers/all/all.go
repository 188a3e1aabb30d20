// Package all lists the kinds of watchers and has no other content. Adding a kind takes one
// line here.
package all

import (
	"hob/watchers"
	"hob/watchers/calendar"
	"hob/watchers/cron"
	"hob/watchers/email"
	"hob/watchers/feed"
	"hob/watchers/file"
	"hob/watchers/github"
	"hob/watchers/message"
	"hob/watchers/oneshot"
	"hob/watchers/page"
)

// Drivers returns one driver of each kind. Drivers may hold resources that their watchers
// share, so call it once per process.
func Drivers() []watchers.Driver {
	return []watchers.Driver{
		file.New(),
		email.New(),
		message.New(),
		calendar.New(),
		feed.New(),
		page.New(),
		github.New(),
		cron.New(),
		oneshot.New(),
	}
}

// Kinds describes the kinds of watchers, in the order in which they are offered.
func Kinds() (out []watchers.Description) {
	for _, d := range Drivers() {
		out = append(out, d.Describe())
	}
	return out
}
