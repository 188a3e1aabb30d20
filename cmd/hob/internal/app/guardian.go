package app

import (
	"context"

	"hob/autonomy"
	"hob/autonomy/llm"
)

// guardianCheck returns a function that asks the model of [guard] guardian about untrusted text; nil
// if none is set. If the model cannot be created, every call fails, which changes nothing.
func (d *App) guardianCheck() func(ctx context.Context, who llm.Account, text string) (bool, error) {
	name := d.opt.Config.Guard.Guardian
	if name == "" || name == "off" {
		return nil
	}
	return autonomy.Guardian(d.models.Lazy(name))
}
