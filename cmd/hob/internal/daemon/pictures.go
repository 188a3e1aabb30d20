package daemon

import (
	"context"

	"hob/autonomy/llm"
	"hob/knowledge/ingest"
	"hob/knowledge/refine"
)

// pictures returns the function that describes pictures; nil if disabled.
func (d *Daemon) pictures() (ingest.Pictures, error) {
	if d.opt.Config.Knowledge.Pictures == "off" {
		return nil, nil
	}
	return refine.NewDescriber(refine.DescriberOptions{Model: d.seeing, Later: ingest.ErrLater})
}

// seeing returns the cheapest model that reads pictures: the small one if it can, else the
// current one. A command without a daemon uses none, because it would have to wait.
func (d *Daemon) seeing(ctx context.Context) (llm.Model, error) {
	if !d.lasting() {
		return nil, nil
	}
	if small := d.opt.Config.Agent.SmallModel; small != "" {
		if m, err := d.brain.named(small); err == nil && m.Info().Vision {
			return m, nil
		}
	}
	m, _, err := d.brain.standing(ctx)
	return m, err
}
