package daemon

import (
	"context"

	"hob/knowledge/index"
)

// openIndex makes the index of the memory. It opens nothing yet: that is done
// when it is needed first.
func (d *Daemon) openIndex(context.Context) (err error) {
	c := d.opt.Config.Knowledge
	d.index, err = index.New(d.store, d.opt.Paths.Index(), index.Options{
		Title: c.TitleWeight, Speaker: c.SpeakerWeight, Postings: c.IndexPostings, Delay: c.IndexDelay.Duration, Log: d.opt.Log,
	})
	return err
}

// Index is the index of the memory.
func (d *Daemon) Index() *index.Index { return d.index }
