package knowledge

import "reflect"

// Tuning contains the thresholds and weights of Retrieve. Zero selects the default, and a negative
// weight disables a feature. Weights are relative to the weight of all words of a text.
// docs/reports/retrieval.md has the effect of each weight.
type Tuning struct {
	Candidates int // number of rows found by words that are scored (60)
	Neighbors  int // number of neighbors on each side that are scored as well (4)

	K1 float64 // BM25 saturation of repeated words (0.9)
	B  float64 // BM25 length normalization (0.4)

	// Weights of a word that does not occur in the row but in a nearby row.
	Answer float64 // weight of words in the question that precedes the row (1)
	Before float64 // weight of words in the preceding row if that row is not a question (0.15)
	After  float64 // weight of words in the row after it (0.3)
	Reply  float64 // weight of words in the following row if the row itself is a question (0.15)
	Near   float64 // weight of words two rows away (0.15)
	Window float64 // weight of words in any of the neighbors (0.5)

	Session  float64 // weight of words that occur in the same conversation or document (0.6)
	Opening  float64 // the question asks for several items or a summary, and the row opens a conversation (0.4)
	Lead     float64 // weight of words that are among the first 60 words of the row (0.7)
	Exchange float64 // weight of words in Hob's answer to the row (0.7)
	Rule     float64 // the row is a standing instruction of the user (0.6)
	Form     float64 // weight of a word with a similar stem: "allergic" for "allergies" (0.4)
	Little   float64 // weight of words that occur in many questions (0.4)
	Speaker  float64 // the row is by the named person (0.4)
	Question float64 // penalty for a row that is a question (0.15)
	Time     float64 // the row contains a time and the question asks for one (0.5)
	Number   float64 // the row contains a number and the question asks for one (0.35)
	Date     float64 // the row is from the named time (0.8)
	Later    float64 // share of Date if the row was written soon after the named time (0.5)
	Recent   float64 // the row is recent (0.03)
	Fact     float64 // the row is a fact instead of a message (0.3)
	Entity   float64 // the row is about a named entity (0.3)
	Graph    float64 // the row is about a related entity; halved with each hop (0.4)
	Hops     int     // maximum distance in the graph (2)
	Leads    int     // maximum number of rows found through relations (20)
	Share    float64 // minimum share of the words for Strict (0.5)
	Weak     float64 // share of the best score below which Strict drops a row (0.3)
	Meaning  int     // rank constant of the fusion of words and meaning (60)
}

// DefaultTuning returns the values that docs/retrieval.md measures.
func DefaultTuning() Tuning {
	return Tuning{
		Candidates: 60, Neighbors: 4, K1: 0.9, B: 0.4,
		Answer: 1, Before: 0.15, After: 0.3, Reply: 0.15, Near: 0.15, Window: 0.5,
		Session: 0.6, Opening: 0.4, Lead: 0.7, Exchange: 0.7, Rule: 0.6,
		Form: 0.4, Little: 0.4, Speaker: 0.4, Question: 0.15, Time: 0.5, Number: 0.35, Date: 0.8, Later: 0.5,
		Recent: 0.03, Fact: 0.3, Entity: 0.3, Graph: 0.4, Hops: 2, Leads: 20, Meaning: 60, Share: 0.5, Weak: 0.3,
	}
}

// withDefaults replaces zero values with the defaults.
func (t Tuning) withDefaults() Tuning {
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
