package index

import (
	"hob/autonomy/config"
	"hob/knowledge"
)

// OptionsOf returns the options of the configuration, without Log.
func OptionsOf(c config.Knowledge) Options {
	return Options{Title: c.TitleWeight, Speaker: c.SpeakerWeight, Postings: c.IndexPostings, Delay: c.IndexDelay.Duration}
}

// TuningOf returns the configured ranking weights. A weight of 0 means off, not the default.
func TuningOf(c config.Knowledge) knowledge.Tuning {
	r := c.Ranking
	return knowledge.Tuning{
		Candidates: nonZeroWeight(r.Candidates),
		Neighbors:  nonZeroWeight(r.Neighbors),
		K1:         nonZeroWeight(r.K1),
		B:          nonZeroWeight(r.B),
		Answer:     nonZeroWeight(r.Answer),
		Before:     nonZeroWeight(r.Before),
		After:      nonZeroWeight(r.After),
		Reply:      nonZeroWeight(r.Reply),
		Near:       nonZeroWeight(r.Near),
		Window:     nonZeroWeight(r.Window),
		Session:    nonZeroWeight(r.Session),
		Opening:    nonZeroWeight(r.Opening),
		Lead:       nonZeroWeight(r.Lead),
		Exchange:   nonZeroWeight(r.Exchange),
		Rule:       nonZeroWeight(r.Rule),
		Form:       nonZeroWeight(r.Form),
		Little:     nonZeroWeight(r.Little),
		Speaker:    nonZeroWeight(r.Speaker),
		Question:   nonZeroWeight(r.Question),
		Time:       nonZeroWeight(r.Time),
		Number:     nonZeroWeight(r.Number),
		Date:       nonZeroWeight(r.Date),
		Later:      nonZeroWeight(r.Later),
		Recent:     nonZeroWeight(r.Recent),
		Fact:       nonZeroWeight(r.Fact),
		Entity:     nonZeroWeight(r.Entity),
		Graph:      nonZeroWeight(r.Graph),
		Hops:       nonZeroWeight(r.Hops),
		Leads:      nonZeroWeight(r.Leads),
		Share:      nonZeroWeight(r.Share), Weak: nonZeroWeight(r.Weak),
		Meaning: nonZeroWeight(r.Meaning),
	}
}

func nonZeroWeight[T int | float64](v T) T {
	if v == 0 {
		return -1
	}
	return v
}
