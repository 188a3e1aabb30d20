package app

import (
	"context"
	"slices"

	"hob/autonomy/mind/learn"
	"hob/autonomy/turn/prompt"
	"hob/platform/host/system"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools/files"
	watchersall "hob/watchers/all"
)

// openPrompt creates the request builder and writes AGENTS.md.
func (d *App) openPrompt(context.Context) (*prompt.Builder, error) {
	p := d.opt.Paths
	texts, err := prompt.OpenOwnTexts(p.SoulFile(), p.UserFile(), p.MemoryFile(), d.opt.Log)
	if err != nil {
		return nil, err
	}
	b, err := prompt.New(d.promptOptions(texts))
	if err != nil || d.opt.InProcess {
		return b, err
	}
	return b, d.writeManual(b)
}

func (d *App) promptOptions(texts *prompt.OwnTexts) prompt.Options {
	return prompt.Options{
		Name: d.opt.Config.Agent.Name, Texts: texts.Current, Catalogue: d.catalogue, Channels: d.reachableChannels(), Watchers: watcherKinds(),
		Store: d.store, Model: d.models.Info, Memory: d.base, Skills: &skills{dir: d.opt.Paths.TemplateState()}, Projects: projects{d.files}, Lessons: lessonSource{d.learner}, Log: d.opt.Log,
	}
}

// reachableChannels returns the channels on which Hob can send, without the ones that always exist.
func (d *App) reachableChannels() []string {
	var out []string
	for _, name := range channelNames() {
		if d.channels.Has(name) {
			out = append(out, name)
		}
	}
	return out
}

func watcherKinds() []string {
	var out []string
	for _, k := range watchersall.Kinds() {
		out = append(out, k.Kind)
	}
	slices.Sort(out)
	return out
}

// writeManual brings AGENTS.md up to date, unless the owner wrote one.
func (d *App) writeManual(b *prompt.Builder) error {
	path := d.opt.Paths.AgentsFile()
	text, err := b.RenderManual()
	if err != nil {
		return err
	}
	old, err := prompt.ReadOptional(path)
	switch {
	case err != nil:
		d.opt.Log.Warn("cannot read AGENTS.md; not changed", "err", err)
		return nil
	case old == text:
		return nil
	case old != "" && !prompt.OwnManual(old):
		d.opt.Log.Info("AGENTS.md was not written by Hob; not changed", "file", path)
		return nil
	}
	if err := system.WriteFile(path, []byte(text)); err != nil { // it is there to be read, not needed
		d.opt.Log.Warn("cannot write AGENTS.md", "err", err)
	}
	return nil
}

// projects finds AGENTS.md files through the file tools' own gate.
type projects struct{ f *files.Files }

// Nearest implements prompt.Projects.
func (p projects) Nearest(path string) (prompt.Note, bool, error) {
	g, ok, err := p.f.Guide(path)
	return prompt.Note{Title: g.Path, Text: g.Text, Source: g.Source}, ok, err
}

func (d *App) openLearner(context.Context) (err error) {
	d.learner, err = learn.New(learn.Options{Store: d.store, Bus: d.bus, Zone: d.zone, Log: d.opt.Log})
	return err
}

// lessonSource provides the lessons and preferences to the prompt.
type lessonSource struct{ l *learn.Learner }

// Holding implements prompt.Lessons.
func (s lessonSource) Holding(ctx context.Context, realm, text string, limit int) ([]prompt.Note, error) {
	list, err := s.l.RelevantLessons(ctx, realm, text, limit)
	var out []prompt.Note
	for _, h := range list {
		out = append(out, prompt.Note{ID: h.ID, Text: h.Text, Source: provenance.Hob})
	}
	return out, err
}

// UsedTx implements prompt.Lessons.
func (s lessonSource) UsedTx(tx *store.Tx, session string, ids []string) error {
	return s.l.UsedTx(tx, session, ids)
}

// Owner implements prompt.Lessons.
func (s lessonSource) Owner(ctx context.Context, unattended bool) (string, error) {
	return s.l.ProfileLine(ctx, unattended)
}
