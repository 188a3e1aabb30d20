// Package all lists the channels that the configuration can enable. The terminal and the web
// channel are always enabled, and the composition root creates them because they need the
// engine.
package all

import (
	"path/filepath"

	"hob/autonomy/config"
	"hob/channels"
	"hob/channels/alexa"
	"hob/channels/desktop"
	"hob/channels/discord"
	"hob/channels/email"
	"hob/channels/imessage"
	"hob/channels/notes"
	"hob/channels/reminders"
	"hob/channels/slack"
	"hob/channels/telegram"
	"hob/channels/webhook"
	"hob/platform/host/system"
)

// Drivers returns one driver for each section [channels.NAME], in the order used by setup and the
// lists.
func Drivers() []channels.Driver {
	return []channels.Driver{
		desktop.Driver{},
		imessage.Driver{},
		email.Driver{},
		discord.Driver{},
		slack.Driver{},
		telegram.Driver{},
		webhook.Driver{},
		reminders.Driver{},
		notes.Driver{},
		alexa.Driver{},
	}
}

// ProtectedPaths lists the paths that file tools and commands must not access, even within allowed
// folders: Hob's own files, the targets of SOUL.md, USER.md, MEMORY.md and AGENTS.md, of the same files
// of the agents and of their folders if those are links, SOUL files elsewhere, and the notes that the
// user exchanges with Hob.
func ProtectedPaths(p system.Paths, c *config.Config) []string {
	out := p.Own()
	files := []string{p.SoulFile(), p.UserFile(), p.MemoryFile(), p.AgentsFile(), p.AgentDir("")}
	for _, name := range c.AgentNames() {
		dir := p.AgentDir(name)
		files = append(files, dir, filepath.Join(dir, "SOUL.md"), filepath.Join(dir, "USER.md"), filepath.Join(dir, "MEMORY.md"))
		if s, _ := c.Member(name); s.Soul != "" {
			files, out = append(files, s.Soul), append(out, s.Soul)
		}
	}
	for _, file := range files {
		if target, err := filepath.EvalSymlinks(file); err == nil && target != file {
			out = append(out, target)
		}
	}
	if c.Pim.NotesFolder == "" {
		return out
	}
	for _, folder := range channels.NotesFolders(Drivers(), func(name string) (func(any) error, bool) {
		s, ok := c.Channel(name)
		return s.Decode, ok && s.Enabled
	}) {
		out = append(out[:len(out):len(out)], filepath.Join(c.Pim.NotesFolder, folder))
	}
	return out
}
