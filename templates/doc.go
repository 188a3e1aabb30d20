// Package templates defines templates (template.toml with SOUL.md). It finds templates (built in,
// in Hob's own folder, in another folder or in an archive), installs them and resets them
// (Installation).
//
// A template gives Hob a personality, a few settings, schedules, watchers and goals. It can never
// extend Hob's permissions: settings must be in an allow-list, limits may only become stricter, and
// the tasks of a template that is not built in are untrusted text.
//
// Installation keeps the original config.toml and SOUL.md. A reset is a three-way merge, so that
// the owner's later edits survive. Each change is first written to a journal. After a crash, the
// next command completes the change.
//
// The package does not depend on the configuration format or the database: the caller supplies them
// as Editor and ResourceStore. The command `hob template` calls it.
package templates
