package channelstest

import (
	"context"
	"testing"

	"hob/channels"
)

// The optional capabilities of a Platform. Conform tests those that the platform has, and skips the
// others.

// Outage is a platform that can be out of reach altogether: while it is down no
// connection to it comes about, and open ones are cut.
type Outage interface {
	Down()
	Up()
}

// Repeater is a platform that can deliver the last message (Speaker) to the channel again with the
// same id, as after a resumed connection. It reports whether it could.
type Repeater interface {
	Again(ctx context.Context) bool
}

// Reopener is a platform that outlives Hob: Reopen creates the channel again, as after a restart,
// with the same platform and the channel's stored state (StateStore).
type Reopener interface {
	Reopen(t *testing.T) channels.Channel
}

// Renderer is a platform that renders the markup of texts as its apps do. Rendered names everything
// in the texts that arrived that is more than formatted words: a mention that would notify somebody
// ("mention @everyone"), an HTML element that the platform does not offer ("element script"), a
// link that does something other than open a page ("link javascript:"). It is empty for harmless
// texts.
type Renderer interface{ Rendered() []string }

// Secrets is a platform whose channel has secrets. None of them may appear in an error or in any
// other text of the channel about itself.
type Secrets interface{ Secrets() []string }

// Folder is a platform that shows the latest texts as one, such as notes on a desktop:
// each arrives, but not by itself.
type Folder interface{ Folds() }
