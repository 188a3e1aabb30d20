// Package templates defines templates (template.toml with SOUL.md), finds them (built in,
// in Hob's own folder, in a folder or an archive), and installs and resets them
// (Installation).
//
// A template gives Hob a personality, a few settings, schedules, watchers and goals. It can
// never extend Hob's permissions: settings come from an allow-list, limits may only become
// stricter, and tasks of a template that is not built in count as untrusted text.
//
// Installation keeps the original config.toml and SOUL.md. A reset merges three ways, so that the
// owner's later edits survive. Each change is first written to a journal: after a crash the
// next command finishes it.
//
// The package knows neither the configuration format nor the database; the caller supplies
// them as Editor and ResourceStore. The command `hob template` calls it.
package templates
