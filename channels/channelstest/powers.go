package channelstest

import (
	"context"
	"testing"

	"hob/channels"
)

// The optional powers of a Platform. Conform tries what the platform offers, and
// skips the rest.

// Outage is a platform that can be out of reach altogether: while it is down no
// connection to it comes about, and open ones are cut.
type Outage interface {
	Down()
	Up()
}

// Repeater is a platform that hands what was said last (Speaker) to the channel once
// more, as after a connection that was resumed, under the same id. It reports whether
// it could.
type Repeater interface {
	Again(ctx context.Context) bool
}

// Reopener is a platform that outlives Hob: Reopen makes the channel anew, as after a
// restart, over the same platform and with what the channel has kept (Keeper).
type Reopener interface {
	Reopen(t *testing.T) channels.Channel
}

// Renderer is a platform that reads the markup of texts as the apps of its users do.
// Rendered names what was found in the texts that arrived and is more than words and
// their looks: a mention that would ring somebody ("mention @everyone"), an element of
// HTML that the medium does not offer ("element script"), a link that does something
// else than to open a page ("link javascript:"). It is empty for harmless texts.
type Renderer interface{ Rendered() []string }

// Secrets is a platform whose channel was given secrets. None of them may stand in
// an error or in anything else that the channel says about itself.
type Secrets interface{ Secrets() []string }

// Folder is a platform that shows the latest texts as one, such as notes on a desktop:
// each arrives, but not by itself.
type Folder interface{ Folds() }
