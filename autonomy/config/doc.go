// Package config reads and edits config.toml: the typed core settings, and the
// raw sections of channel drivers, which a driver decodes strictly with Section.
//
// Unknown keys and bad values are errors that name the file, the line and what
// is accepted. Edits keep comments and order. The defaults and their description
// come from default.toml, the short file that `hob init` writes from initial.toml.
// The package does not resolve secrets and does not know drivers; the commands
// and the composition root call it.
package config
