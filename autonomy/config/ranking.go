package config

// Ranking is [knowledge.ranking]: the ranking of memories. knowledge.Tuning explains the
// weights.
type Ranking struct {
	Candidates int      `toml:"candidates"`
	Neighbors  int      `toml:"neighbours"`
	K1         float64  `toml:"k1"`
	B          float64  `toml:"b"`
	Answer     float64  `toml:"answer"`
	Before     float64  `toml:"before"`
	After      float64  `toml:"after"`
	Reply      float64  `toml:"reply"`
	Near       float64  `toml:"near"`
	Window     float64  `toml:"window"`
	Session    float64  `toml:"session"`
	Opening    float64  `toml:"opening"`
	Lead       float64  `toml:"lead"`
	Exchange   float64  `toml:"exchange"`
	Rule       float64  `toml:"rule"`
	Form       float64  `toml:"form"`
	Little     float64  `toml:"little"`
	Speaker    float64  `toml:"speaker"`
	Question   float64  `toml:"question"`
	Time       float64  `toml:"time"`
	Number     float64  `toml:"number"`
	Date       float64  `toml:"date"`
	Later      float64  `toml:"later"`
	Recent     float64  `toml:"recent"`
	HalfLife   Duration `toml:"half_life"`
	Fact       float64  `toml:"fact"`
	Entity     float64  `toml:"entity"`
	Graph      float64  `toml:"graph"`
	Hops       int      `toml:"hops"`
	Leads      int      `toml:"leads"`
	Share      float64  `toml:"share"`
	Weak       float64  `toml:"weak"`
	Meaning    int      `toml:"meaning"`
}

func (k *checker) checkRanking() {
	r := k.c.Knowledge.Ranking
	k.requireBetween("knowledge.ranking.candidates", r.Candidates, 10, 1000)
	k.requireBetween("knowledge.ranking.neighbours", r.Neighbors, 0, 20)
	k.requireBetween("knowledge.ranking.hops", r.Hops, 0, 4)
	k.requireBetween("knowledge.ranking.leads", r.Leads, 0, 200)
	k.requireBetween("knowledge.ranking.meaning", r.Meaning, 1, 1000)
	for key, v := range map[string]float64{
		"k1":       r.K1,
		"answer":   r.Answer,
		"before":   r.Before,
		"after":    r.After,
		"reply":    r.Reply,
		"near":     r.Near,
		"window":   r.Window,
		"session":  r.Session,
		"opening":  r.Opening,
		"lead":     r.Lead,
		"exchange": r.Exchange,
		"rule":     r.Rule,
		"speaker":  r.Speaker,
		"question": r.Question,
		"time":     r.Time,
		"number":   r.Number,
		"date":     r.Date,

		"recent": r.Recent,
		"fact":   r.Fact,
		"entity": r.Entity,
		"graph":  r.Graph,
	} {
		k.requireValid("knowledge.ranking."+key, v >= 0 && v <= 10, "must be between 0 and 10")
	}
	for key, v := range map[string]float64{
		"b":      r.B,
		"form":   r.Form,
		"little": r.Little,
		"share":  r.Share, "weak": r.Weak,
		"later": r.Later,
	} {
		k.requireValid("knowledge.ranking."+key, v >= 0 && v <= 1, "must be between 0 and 1")
	}
	k.requireValid("knowledge.ranking.half_life", r.HalfLife.Duration > 0, "must be longer than 0s")
}
