package channelstest

import (
	"context"
	"testing"

	"hob/channels"
)

// The optional capabilities of a Platform. Conform tests those that the platform has, and skips the
// others.

// Outage is a platform that can become unreachable: while it is down, connections fail, and open
// ones are cut.
type Outage interface {
	Down()
	Up()
}

// Repeater is a platform that can redeliver the last message (Speaker) to the channel with the same
// id, as after a resumed connection. It reports whether it could.
type Repeater interface {
	Again(ctx context.Context) bool
}

// Reopener is a platform that outlives Hob. Reopen recreates the channel, as after a restart, with
// the same platform and the channel's stored state (StateStore).
type Reopener interface {
	Reopen(t *testing.T) channels.Channel
}

// Renderer is a platform that renders the markup of messages as its apps do. Rendered lists all
// content in the received messages other than formatted words: a mention that would notify a person
// ("mention @everyone"), an HTML element that the platform does not offer ("element script"), a
// link that does not just open a page ("link javascript:"). It is empty for harmless messages.
type Renderer interface{ Rendered() []string }

// Secrets is a platform whose channel has secrets. No error or status text of the channel may
// contain a secret.
type Secrets interface{ Secrets() []string }

// Folder is a platform that combines the latest messages into one, such as notifications on a
// desktop. Each message arrives, but possibly as part of another one.
type Folder interface{ Folds() }
