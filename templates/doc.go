// Package templates is what a template is (template.toml with SOUL.md), where
// templates come from (built in, Hob's own folder, a folder or an archive), and
// Home, which puts one to use and takes it back.
//
// A template gives Hob a personality, a few settings, schedules, watchers and
// goals. It can never widen what Hob may do: settings come from an allow-list,
// those that bound something may only be tightened, and what a template that is
// not built in has Hob do counts as outside text.
//
// Home keeps what config.toml and SOUL.md said before. Taking a template back
// merges three ways, so that what the owner edited meanwhile survives. Whatever
// is about to be done stands in a journal first: after a crash the next command
// finishes it.
//
// The package knows neither the format of the configuration nor the database;
// it gets them as Editor and Things. The command `hob template` calls it.
package templates
