// Package system manages Hob's files on this machine and what it shares with other
// processes: folders (Paths), the single-instance lock (Acquire), the start of a detached
// daemon (Detach), time zones (Zone), secret references (Secrets) and private files
// (WriteFile, EnsureToken).
//
// It applies no policy and starts nothing on its own. The commands, the configuration and
// the composition root call it.
package system
