package config

import "time"

// extraction checks the keys of [knowledge] about facts extracted from the owner's messages.
func (k *checker) extraction() {
	n := k.c.Knowledge
	k.oneOf("knowledge.extraction", n.Extraction, "auto", "rules", "model", "off")
	k.between("knowledge.extraction_turns", n.ExtractionTurns, 1, 50)
	d := n.ExtractionWait.Duration
	k.require("knowledge.extraction_wait", d >= time.Second && d <= 24*time.Hour, `it must lie between "1s" and "24h"`)
}
