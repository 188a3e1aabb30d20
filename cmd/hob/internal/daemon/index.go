package daemon

import (
	"context"

	"hob/autonomy/config"
	"hob/knowledge/index"
)

// openIndex makes the index of the memory. It opens nothing yet: that is done
// when it is needed first.
func (d *Daemon) openIndex(context.Context) (err error) {
	o := IndexOptions(d.opt.Config.Knowledge)
	o.Log = d.opt.Log
	d.index, err = index.New(d.store, d.opt.Paths.Index(), o)
	return err
}

// IndexOptions is how the owner wants the index of the memory to be.
func IndexOptions(c config.Knowledge) index.Options {
	return index.Options{Title: c.TitleWeight, Speaker: c.SpeakerWeight, Postings: c.IndexPostings, Delay: c.IndexDelay.Duration}
}
