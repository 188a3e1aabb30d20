// Package system knows where Hob lives on this machine and what it shares with
// other processes: folders (Paths), the single-instance lock (Acquire), the
// start of a detached daemon (Detach), time zones (Zone), secret references
// (Secrets) and private files (WriteFile, EnsureToken).
//
// It holds no policy and starts nothing by itself. The commands, the
// configuration and the composition root call it.
package system
