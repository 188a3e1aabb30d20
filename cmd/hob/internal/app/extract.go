package app

import (
	"context"

	"hob/autonomy/mind/extract"
	"hob/autonomy/mind/learn"
	"hob/autonomy/session"
	"hob/platform/store"
)

// openLearning makes messages searchable, and creates what learns from turns: lessons, and facts
// that the user mentions.
func (d *App) openLearning(context.Context) (err error) {
	if d.library, err = session.NewLibrary(d.sessions, d.base, session.LibraryOptions{Realm: d.crew.RealmOf, About: d.crew.AboutTurn}); err != nil {
		return err
	}
	if d.learner, err = learn.New(learn.Options{Store: d.store, Bus: d.bus, Zone: d.zone, Log: d.opt.Log}); err != nil {
		return err
	}
	k := d.opt.Config.Knowledge
	d.extractor, err = extract.New(extract.Options{
		Store: d.store, Bus: d.bus, Base: d.base, Linker: d.graph, Model: d.models.Cheapest, Mode: k.Extraction, Turns: k.ExtractionTurns,
		Wait: k.ExtractionWait.Duration, Zone: d.zone, Log: d.opt.Log,
	})
	return err
}

// extractTurns reads turns that have ended. A command that uses the engine without a
// daemon asks no model: it would have to wait for it.
func (d *App) extractTurns(ctx context.Context) error {
	if !d.isLongRunning() {
		return d.extractor.RunRules(ctx)
	}
	return d.extractor.Run(ctx)
}

// studyTurn extracts lessons and facts from a turn.
func (d *App) studyTurn(t learn.Turn) func(tx *store.Tx) {
	lessons, facts := d.learner.Study(t), d.extractor.Study(t)
	return func(tx *store.Tx) {
		lessons(tx)
		facts(tx)
	}
}
