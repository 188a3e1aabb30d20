package goals

import (
	"context"
	"time"

	"hob/knowledge"
	"hob/platform/store"
	"hob/platform/text/credential"
	"hob/watchers"
)

// Sources provides the facts for the rules of goals. It implements Facts. All fields are required.
type Sources struct {
	Store    *store.Store
	Watchers *watchers.Manager
	Base     *knowledge.Base
	Zone     func() *time.Location
	// ListTasks returns all tasks of the user. now is in the user's time zone.
	ListTasks func(ctx context.Context, now time.Time) ([]Task, error)
	// Executes reports whether the built-in brain would execute text.
	Executes func(text string, now time.Time) bool
}

// Tasks implements Facts.
func (s Sources) Tasks(ctx context.Context) ([]Task, error) {
	return s.ListTasks(ctx, time.Now().In(s.Zone()))
}

// Fired implements Facts.
func (s Sources) Fired(ctx context.Context, words string) (Firing, bool, error) {
	list, err := s.Watchers.List(ctx, watchers.Filter{})
	if err != nil {
		return Firing{}, false, err
	}
	for _, w := range list {
		title := s.Watchers.Describe(w)
		if containsAll(title+" "+w.Title+" "+w.Action+" "+w.ID, words) {
			return Firing{ID: w.ID, Title: title, At: w.FiredAt, Source: w.Provenance}, true, nil
		}
	}
	return Firing{}, false, nil
}

// Known implements Facts.
func (s Sources) Known(ctx context.Context, words string) (Fact, bool, error) {
	hits, err := s.Base.Recall(s.Store.Reader(ctx), "", words, 20)
	if err != nil {
		return Fact{}, false, err
	}
	for _, h := range hits {
		if (credential.Viewer{}).Hides("", h.Text) { // the text looks like a credential that was not requested by name
			continue
		}
		if containsAll(h.Text, words) {
			return Fact{ID: h.ID, Text: h.Text, Source: h.Provenance}, true, nil
		}
	}
	return Fact{}, false, nil
}

// Understands implements Facts.
func (s Sources) Understands(words string) bool {
	return s.Executes(words, time.Now().In(s.Zone()))
}

// Counts holds the numbers of open goals.
type Counts struct {
	Open, Waiting int
	NextReview    time.Time // next review of the active goals; zero if there is none
}

// Count counts the open goals that are not paused.
func (g *Goals) Count(ctx context.Context) (c Counts, err error) {
	list, err := g.List(ctx, false)
	for _, x := range list {
		switch x.Status {
		case string(Waiting):
			c.Waiting++
		case string(Active):
			if c.NextReview.IsZero() || x.NextAt.Before(c.NextReview) {
				c.NextReview = x.NextAt
			}
		default:
			continue
		}
		c.Open++
	}
	return c, err
}
