package app

import (
	"context"

	"hob/autonomy/llm"
	"hob/knowledge/ingest"
	"hob/knowledge/rerank"
)

// pictureDescriber returns the function that describes pictures; nil if disabled.
func (d *App) pictureDescriber() (ingest.Pictures, error) {
	if d.opt.Config.Knowledge.Pictures == "off" {
		return nil, nil
	}
	return rerank.NewDescriber(rerank.DescriberOptions{Model: d.visionModel, Later: ingest.ErrLater})
}

// visionModel returns the cheapest model that reads pictures: the small one if it can, else the
// current one. A command without a daemon uses none, because it would have to wait.
func (d *App) visionModel(ctx context.Context) (llm.Model, error) {
	if !d.isLongRunning() {
		return nil, nil
	}
	return d.models.CheapestVision(ctx)
}
