package knowledge

import "reflect"

// Tuning are the thresholds and weights of Retrieve; what is zero has its
// default, and a weight below zero is off. Weights of parts are shares of what
// all words of a text together are worth; docs/retrieval.md says what each gives.
type Tuning struct {
	Candidates int // rows found by words that are looked at (60)
	Neighbours int // rows on either side of each that are looked at as well (4)

	K1 float64 // how soon a word that is said again stops counting (0.9)
	B  float64 // how much a long text is held against it (0.4)

	// What a word counts that stands not in the row but beside it.
	Answer float64 // in the question before it (1)
	Before float64 // in the row before it, no question (0.2)
	After  float64 // in the row after it (0.3)
	Reply  float64 // in the row after it, when it is a question itself (0.2)
	Near   float64 // two rows away (0.15)
	Window float64 // anywhere among the neighbours (0.3)

	Session  float64 // words that are in the same conversation or document (0.35)
	Spread   float64 // that many different words are there, not one often (0.3)
	Form     float64 // a word that is only akin: "allergic" for "allergies" (0.4)
	Little   float64 // words that stand in many questions (0.4)
	Speaker  float64 // said by the one who is named (0.35)
	Question float64 // is a question itself; taken off (0.08)
	Time     float64 // holds a time when a time is asked for (0.3)
	Number   float64 // holds a number when one is asked for (0.16)
	Date     float64 // of the time that is named (0.6)
	Later    float64 // said soon after the time that is named, as a share of Date (0.5)
	Recent   float64 // is new (0.02)
	Fact     float64 // is a fact and not something said (0.1)
	Entity   float64 // is about somebody or something that is named (0.2)
	Graph    float64 // is about something related to it; halved with each hop (0.3)
	Hops     int     // how far relations are followed (2)
	Leads    int     // rows that relations may lead to (20)
	Share    float64 // of the words a row must have when little is not enough (0.5)
	Weak     float64 // share of the best score below which a row is then left out (0.3)
	Meaning  int     // how little the first places count when words and meaning are joined (60)
}

// DefaultTuning are the values that docs/retrieval.md measures.
func DefaultTuning() Tuning {
	return Tuning{
		Candidates: 60, Neighbours: 4, K1: 0.9, B: 0.4,
		Answer: 1, Before: 0.2, After: 0.3, Reply: 0.2, Near: 0.15, Window: 0.3,
		Session: 0.35, Spread: 0.3, Form: 0.4, Little: 0.4, Speaker: 0.35, Question: 0.08, Time: 0.3, Number: 0.16,
		Date: 0.6, Later: 0.5, Recent: 0.02, Fact: 0.1, Entity: 0.2, Graph: 0.3, Hops: 2, Leads: 20, Meaning: 60, Share: 0.5, Weak: 0.3,
	}
}

// filled puts the defaults where nothing is said.
func (t Tuning) filled() Tuning {
	have, otherwise := reflect.ValueOf(&t).Elem(), reflect.ValueOf(DefaultTuning())
	for i := range have.NumField() {
		switch f := have.Field(i); {
		case f.IsZero():
			f.Set(otherwise.Field(i))
		case f.CanInt() && f.Int() < 0 || f.CanFloat() && f.Float() < 0:
			f.SetZero()
		}
	}
	return t
}
