package app

import (
	"hob/autonomy/turn"
	"hob/autonomy/turn/guardian"
)

// guardianCheck returns the check of untrusted text by the model of [guard] guardian; nil if none is
// set. If the model cannot be created, every check fails, which changes nothing.
func (d *App) guardianCheck() turn.TextChecker {
	name := d.opt.Config.Guard.Guardian
	if name == "" || name == "off" {
		return nil
	}
	return guardian.New(d.models.Lazy(name))
}
