package app

import (
	"context"

	"hob/autonomy/mind/extract"
	"hob/autonomy/mind/learn"
	"hob/platform/store"
)

// openExtractor creates the extractor, which stores facts that the owner mentions.
func (d *App) openExtractor(context.Context) (err error) {
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
