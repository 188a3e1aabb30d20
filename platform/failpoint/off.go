//go:build !failpoint

// Package failpoint lets the crash test kill the process at a named instant.
// In an ordinary build every function is an empty, inlined no-op; only a build
// with the tag "failpoint" (made by the crash test) reads HOB_FAILPOINT.
package failpoint

// Enabled reports whether this build can kill itself at a failpoint.
const Enabled = false

// Hit marks one instant between two durable steps. Names are dotted and
// constant, such as "store.commit.before".
func Hit(string) {}

// Address is where a platform is reached: at its official address, unless a crash test
// has one of its own (HOB_FAILPOINT_AT_NAME).
func Address(_, official string) string { return official }
