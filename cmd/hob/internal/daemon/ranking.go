package daemon

import (
	"hob/autonomy/config"
	"hob/knowledge"
)

// Tuning returns the configured ranking weights. A weight of 0 means off, not the default.
func Tuning(c config.Knowledge) knowledge.Tuning {
	r := c.Ranking
	return knowledge.Tuning{
		Candidates: weighed(r.Candidates),
		Neighbours: weighed(r.Neighbours),
		K1:         weighed(r.K1),
		B:          weighed(r.B),
		Answer:     weighed(r.Answer),
		Before:     weighed(r.Before),
		After:      weighed(r.After),
		Reply:      weighed(r.Reply),
		Near:       weighed(r.Near),
		Window:     weighed(r.Window),
		Session:    weighed(r.Session),
		Spread:     weighed(r.Spread),
		Form:       weighed(r.Form),
		Little:     weighed(r.Little),
		Speaker:    weighed(r.Speaker),
		Question:   weighed(r.Question),
		Time:       weighed(r.Time),
		Number:     weighed(r.Number),
		Date:       weighed(r.Date),
		Later:      weighed(r.Later),
		Recent:     weighed(r.Recent),
		Fact:       weighed(r.Fact),
		Entity:     weighed(r.Entity),
		Graph:      weighed(r.Graph),
		Hops:       weighed(r.Hops),
		Leads:      weighed(r.Leads),
		Share:      weighed(r.Share), Weak: weighed(r.Weak),
		Meaning: weighed(r.Meaning),
	}
}

func weighed[T int | float64](v T) T {
	if v == 0 {
		return -1
	}
	return v
}
