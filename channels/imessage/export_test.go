package imessage

import (
	"fmt"

	"hob/platform/pim/messages/chatdb"
)

// Internals that tests read.
var (
	Scripts     = allScripts
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
