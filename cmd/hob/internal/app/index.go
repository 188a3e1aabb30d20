package app

import (
	"context"

	"hob/autonomy/config"
	"hob/knowledge/index"
)

// openIndex creates the index of the memory. It is opened on first use.
func (d *App) openIndex(context.Context) (err error) {
	o := IndexOptions(d.opt.Config.Knowledge)
	o.Log = d.opt.Log
	d.index, err = index.New(d.store, d.opt.Paths.Index(), o)
	return err
}

// IndexOptions returns the index options of the configuration.
func IndexOptions(c config.Knowledge) index.Options {
	return index.Options{Title: c.TitleWeight, Speaker: c.SpeakerWeight, Postings: c.IndexPostings, Delay: c.IndexDelay.Duration}
}
