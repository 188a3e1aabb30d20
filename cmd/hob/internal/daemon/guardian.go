package daemon

import (
	"context"

	"hob/autonomy"
	"hob/autonomy/llm"
)

// guardian asks the model of [guard] guardian for its verdict on text from
// outside; nil when none is set. One that cannot be made is an error of each
// question, which changes nothing.
func (d *Daemon) guardian() func(ctx context.Context, who llm.Account, text string) (bool, error) {
	name := d.opt.Config.Guard.Guardian
	if name == "" || name == "off" {
		return nil
	}
	return autonomy.Guardian(func(context.Context) (llm.Model, error) { return d.models.named(name) })
}
