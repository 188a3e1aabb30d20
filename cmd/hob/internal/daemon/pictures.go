package daemon

import (
	"context"

	"hob/autonomy/llm"
	"hob/knowledge/ingest"
	"hob/knowledge/refine"
)

// pictures is what says what is on pictures; nil when the owner does not want it.
func (d *Daemon) pictures() (ingest.Pictures, error) {
	if d.opt.Config.Knowledge.Pictures == "off" {
		return nil, nil
	}
	return refine.NewDescriber(refine.DescriberOptions{Model: d.seeing, Later: ingest.ErrLater})
}

// seeing is the cheapest model that can look at a picture: the small one when it
// can, else the one in force. A command that uses the engine without a daemon
// asks none: it would have to wait for it.
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
