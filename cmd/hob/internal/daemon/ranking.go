package daemon

import (
	"hob/autonomy/config"
	"hob/knowledge"
)

// Tuning is how the owner wants what is remembered to be ranked. A weight of 0
// is off there, and not left out.
func Tuning(c config.Knowledge) knowledge.Tuning {
	r := c.Ranking
	return knowledge.Tuning{
		Candidates: said(r.Candidates),
		Neighbours: said(r.Neighbours),
		K1:         said(r.K1),
		B:          said(r.B),
		Answer:     said(r.Answer),
		Before:     said(r.Before),
		After:      said(r.After),
		Reply:      said(r.Reply),
		Near:       said(r.Near),
		Window:     said(r.Window),
		Session:    said(r.Session),
		Spread:     said(r.Spread),
		Form:       said(r.Form),
		Little:     said(r.Little),
		Speaker:    said(r.Speaker),
		Question:   said(r.Question),
		Time:       said(r.Time),
		Number:     said(r.Number),
		Date:       said(r.Date),
		Later:      said(r.Later),
		Feedback:   said(r.Feedback),
		Recent:     said(r.Recent),
		Fact:       said(r.Fact),
		Entity:     said(r.Entity),
		Graph:      said(r.Graph),
		Hops:       said(r.Hops),
		Leads:      said(r.Leads),
		Meaning:    said(r.Meaning),
	}
}

func said[T int | float64](v T) T {
	if v == 0 {
		return -1
	}
	return v
}
