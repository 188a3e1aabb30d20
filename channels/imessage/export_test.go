package imessage

import (
	"fmt"

	"hob/platform/pim/messages/chatdb"
)

// What tests look at.
var (
	Scripts     = allScripts
	AfterPrefix = afterPrefix
	Within      = attachmentPath
	FileName    = fileName
)

// Explain is what a database says that macOS keeps from Hob.
func Explain(c *Channel, err error) error {
	return c.explainDBError(fmt.Errorf("%w: %w", chatdb.ErrNoAccess, err))
}

// Names reports whether a text names Hob, whom its owner calls so.
func Names(name, text string) bool { return namePattern(name).MatchString(text) }
