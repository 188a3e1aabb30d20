package imessage

import (
	"fmt"

	"hob/platform/messages/chatdb"
)

// What tests look at.
var (
	Scripts     = scripts
	AfterPrefix = afterPrefix
	Within      = within
	FileName    = fileName
)

// Explain is what a database says that macOS keeps from Hob.
func Explain(c *Channel, err error) error {
	return c.explain(fmt.Errorf("%w: %w", chatdb.ErrNoAccess, err))
}

// Names reports whether a text names Hob, whom its owner calls so.
func Names(name, text string) bool { return naming(name).MatchString(text) }
