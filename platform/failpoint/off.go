//go:build !failpoint

// Package failpoint lets the crash test kill the process at a named point. In an ordinary build its
// functions do nothing. Only a build with the tag "failpoint", which the crash test makes, reads
// the environment variables that control it.
package failpoint

// Enabled reports whether this build can kill itself at a failpoint.
const Enabled = false

// Hit marks a point between two durable steps. Names are dotted and constant, such as
// "store.commit.before".
func Hit(string) {}

// Fail returns an error where a test wants a step to fail. In ordinary builds it returns nil.
func Fail(string) error { return nil }

// Address returns the address of a platform. In ordinary builds it is always the official one; the
// environment is ignored.
func Address(_, official string) string { return official }
