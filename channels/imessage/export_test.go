package imessage

import (
	"fmt"

	"hob/platform/host/osrun"
	"hob/platform/pim/messages/chatdb"
)

// Internals for tests.
var (
	AfterPrefix = afterPrefix
	Within      = attachmentPath
	FileName    = fileName
)

// Explain returns the error for a database that macOS does not let Hob read.
func Explain(c *Channel, err error) error {
	return c.explainDBError(fmt.Errorf("%w: %w", chatdb.ErrNoAccess, err))
}

// Names reports whether a text mentions Hob. name is the owner's name for Hob.
func Names(name, text string) bool { return namePattern(name).MatchString(text) }

// Scripts returns all scripts.
func Scripts() []osrun.Script {
	return []osrun.Script{loadScript(toChat), loadScript(toPerson), loadScript(toPerson12), loadScript(isReady)}
}
