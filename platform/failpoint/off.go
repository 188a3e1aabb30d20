//go:build !failpoint

// Package failpoint lets the crash test kill the process at a named instant.
// In an ordinary build its functions do nothing; only a build with the tag
// "failpoint" (made by the crash test) reads the environment for it.
package failpoint

// Enabled reports whether this build can kill itself at a failpoint.
const Enabled = false

// Hit marks one instant between two durable steps. Names are dotted and
// constant, such as "store.commit.before".
func Hit(string) {}

// Address returns the address of a platform: in normal builds the official one, regardless of the
// environment.
func Address(_, official string) string { return official }
