package config

import "time"

// checkIndex checks the keys of [knowledge] about the index of words.
func (k *checker) checkIndex() {
	n := k.c.Knowledge
	k.requireBetween("knowledge.title_weight", n.TitleWeight, 1, 10)
	k.requireBetween("knowledge.speaker_weight", n.SpeakerWeight, 1, 10)
	k.requireBetween("knowledge.index_postings", n.IndexPostings, 1000, 1_000_000)
	k.requireBetween("knowledge.forget_most", n.ForgetMost, 1, 100_000)
	d := n.IndexDelay.Duration
	k.requireValid("knowledge.index_delay", d >= 10*time.Millisecond && d <= time.Minute, `it must lie between "10ms" and "1m"`)
}
