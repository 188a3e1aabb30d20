package app

import (
	"context"
	"slices"

	"hob/autonomy/agents"
	"hob/autonomy/turn/prompt"
	"hob/channels"
	channelsall "hob/channels/all"
	"hob/tools/files/containertool"
	watchersall "hob/watchers/all"
)

// openCrew creates the registry of agents. openLoop adds the agents to it.
func (d *App) openCrew(context.Context) (err error) {
	d.boxes = &containertool.Boxes{
		Paths: d.opt.Paths, Config: d.opt.Config, Log: d.opt.Log,
		Notify: func(ctx context.Context, key, text string) error { return d.intake.Notify(ctx, key, text) },
	}
	c := d.opt.Config.Crew
	d.crew, err = agents.New(agents.Options{
		Store: d.store, Bus: d.bus, Guard: d.guard, Sessions: d.sessions, Otherwise: c.Default, Parallel: c.Parallel, Depth: c.Depth, Timeout: c.Timeout.Duration, Longest: c.BackgroundTimeout.Duration, Log: d.opt.Log,
	})
	return err
}

// openPrompt creates the request builder and writes AGENTS.md.
func (d *App) openPrompt(context.Context) (*prompt.Builder, error) {
	p := d.opt.Paths
	texts, err := prompt.OpenOwnTexts(p.SoulFile(), p.UserFile(), p.MemoryFile(), d.opt.Log)
	if err != nil {
		return nil, err
	}
	o := d.promptOptions()
	o.Texts = texts.Current
	b, err := prompt.New(o)
	if err != nil || d.opt.InProcess {
		return b, err
	}
	return b, b.WriteManual(p.AgentsFile())
}

func (d *App) promptOptions() prompt.Options {
	reachable := slices.DeleteFunc(channels.Names(channelsall.Drivers()), func(name string) bool { return !d.channels.Has(name) })
	return prompt.Options{
		Name: d.opt.Config.Agent.Name, Catalog: d.catalog, Channels: reachable, Watchers: watchersall.KindNames(),
		Store: d.store, Model: d.models.Info, Memory: d.base, Skills: d.skills, Projects: prompt.FindProject(d.findProject), Lessons: d.learner, Log: d.opt.Log,
	}
}

// findProject finds AGENTS.md files through the file tools, so that it reads only accessible files.
func (d *App) findProject(path string) (prompt.Note, bool, error) {
	g, ok, err := d.files.Guide(path)
	return prompt.Note{Title: g.Path, Text: g.Text, Source: g.Source}, ok, err
}
