package config

import "time"

// checkExtraction checks the keys of [knowledge] about facts extracted from the owner's messages.
func (k *checker) checkExtraction() {
	n := k.c.Knowledge
	k.oneOf("knowledge.extraction", n.Extraction, "auto", "rules", "model", "off")
	k.requireBetween("knowledge.extraction_turns", n.ExtractionTurns, 1, 50)
	d := n.ExtractionWait.Duration
	k.requireValid("knowledge.extraction_wait", d >= time.Second && d <= 24*time.Hour, `it must lie between "1s" and "24h"`)
}
