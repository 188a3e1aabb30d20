package imessage

import (
	"fmt"

	"hob/platform/host/osrun"
	"hob/platform/pim/messages/chatdb"
)

// Internals that tests read.
var (
	AfterPrefix = afterPrefix
	Within      = attachmentPath
	FileName    = fileName
)

// Explain returns the error of a database that macOS keeps from Hob.
func Explain(c *Channel, err error) error {
	return c.explainDBError(fmt.Errorf("%w: %w", chatdb.ErrNoAccess, err))
}

// Names reports whether a text names Hob, whom its owner calls so.
func Names(name, text string) bool { return namePattern(name).MatchString(text) }

// Scripts returns all scripts.
func Scripts() []osrun.Script {
	return []osrun.Script{loadScript(toChat), loadScript(toPerson), loadScript(toPerson12), loadScript(isReady)}
}
