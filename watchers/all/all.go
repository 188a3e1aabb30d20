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
		calendar.New(),
		cron.New(),
		email.New(),
		feed.New(),
		file.New(),
		github.New(),
		message.New(),
		oneshot.New(),
		page.New(),
	}
}
