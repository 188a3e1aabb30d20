package goals

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/bus"
	"hob/autonomy/config"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/dateparse"
	"hob/platform/text/minitmpl"
	"hob/tools"
)

// PlanSource is the source of the events for the plan of the day.
const PlanSource = "plan"

// TimeOfDay is a clock time.
type TimeOfDay struct{ Hour, Minute int }

// ParseClock parses a clock time such as "07:00".
func ParseClock(s string) (TimeOfDay, error) {
	t, err := time.Parse("15:04", strings.TrimSpace(s))
	if err != nil {
		return TimeOfDay{}, fmt.Errorf("%q is not a time of day such as \"07:00\"", s)
	}
	return TimeOfDay{t.Hour(), t.Minute()}, nil
}

// PlanOptions holds the settings of a Plan. Store, Bus and Zone are required.
type PlanOptions struct {
	Store *store.Store
	Bus   *bus.Bus
	At    TimeOfDay
	// Late is how late a plan may still be sent (default 6 hours).
	Late time.Duration
	// Zone returns the user's time zone, which may change while Hob runs.
	Zone func() *time.Location
	// Sections lists the parts of the plan in order. Empty parts are skipped.
	Sections []tools.BriefSource
	Log      *slog.Logger
}

// Plan is the plan of the day, which is sent once a day at a set time. A day is one day in the
// user's calendar, regardless of changes of the time zone, clock changes and restarts. Plan's
// methods may be called concurrently.
type Plan struct {
	o PlanOptions

	mu    sync.Mutex
	begun bool   // whether the table has a row
	last  string // the last completed day
}

// OpenPlan returns the plan set in the configuration, or nil if the plan is disabled. It sets At
// and Late.
func OpenPlan(c *config.Config, o PlanOptions) (*Plan, error) {
	if c.Plan.At == "" {
		return nil, nil
	}
	var err error
	if o.At, err = ParseClock(c.Plan.At); err != nil {
		return nil, c.Errorf("plan.at", "%v", err)
	}
	o.Late = c.Plan.Late.Duration
	return NewPlan(o)
}

// NewPlan returns a Plan after checking the options.
func NewPlan(o PlanOptions) (*Plan, error) {
	if o.Store == nil || o.Bus == nil || o.Zone == nil {
		return nil, errors.New("goals: PlanOptions needs Store, Bus and Zone")
	}
	if o.Late <= 0 {
		o.Late = 6 * time.Hour
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Plan{o: o}, nil
}

// planTime returns the time of the plan on the day of local plus the given number of days. If the
// clock time occurs twice, it returns the first instant. If a clock change skips it, planTime
// returns the next instant.
func (p *Plan) planTime(local time.Time, days int) time.Time {
	y, m, d := local.Date()
	wall := time.Date(y, m, d+days, p.o.At.Hour, p.o.At.Minute, 0, 0, time.UTC)
	_, before := time.Date(y, m, d+days-1, 12, 0, 0, 0, local.Location()).Zone()
	early := wall.Add(-time.Duration(before) * time.Second).In(local.Location())
	at := time.Date(y, m, d+days, p.o.At.Hour, p.o.At.Minute, 0, 0, local.Location())
	same := func(t time.Time) bool { return t.Format(time.DateTime) == wall.Format(time.DateTime) }
	switch {
	case same(early) && (early.Before(at) || !same(at)):
		return early
	case same(at):
		return at
	}
	if start, _ := early.ZoneBounds(); !start.IsZero() {
		return start.In(local.Location())
	}
	return early
}

// Due puts the plan of the day into the inbox when it is due, and returns the time of the next
// plan.
func (p *Plan) Due(ctx context.Context, now time.Time) (time.Time, error) {
	local := now.In(p.o.Zone())
	day, at := local.Format(time.DateOnly), p.planTime(local, 0)
	next := p.planTime(local, 1)
	if local.Before(at) {
		next = at
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.begun {
		err := p.o.Store.Read().QueryRowContext(ctx, `SELECT coalesce(max(day), '') FROM plans`).Scan(&p.last)
		if err != nil {
			return now.Add(time.Second), fmt.Errorf("plan of the day: read the last day: %w", err)
		}
		p.begun = p.last != ""
	}
	if p.begun && (local.Before(at) || p.last >= day) { // ISO dates sort by time
		return next, nil
	}
	err := p.o.Store.Write(ctx, func(tx *store.Tx) error { return p.settleTx(tx, local, at) })
	if err != nil {
		return now.Add(time.Second), fmt.Errorf("plan of the day: send the plan: %w", err)
	}
	p.begun = true
	if !local.Before(at) {
		p.last = day
	}
	return next, nil
}

// settleTx completes a day: it puts the plan into the inbox, or records why there is none. Plans
// for past days are not sent.
func (p *Plan) settleTx(tx *store.Tx, local, at time.Time) error {
	var newest string
	if err := tx.QueryRow(`SELECT coalesce(max(day), '') FROM plans`).Scan(&newest); err != nil {
		return err
	}
	day := local.Format(time.DateOnly)
	note := func(day, outcome, event string) error {
		_, err := tx.Exec(`INSERT INTO plans (day, outcome, event, at) VALUES (?,?,?,?) ON CONFLICT (day) DO NOTHING`, day, outcome, event, store.Millis(local))
		return err
	}
	switch {
	case newest == "" && local.Before(at): // the first day, before the time of its plan
		return note(local.AddDate(0, 0, -1).Format(time.DateOnly), "before the first day", "")
	case newest == "":
		return note(day, "Hob was installed during the day", "")
	case local.Before(at), newest >= day: // also true if the user has traveled back across midnight
		return nil
	case local.Sub(at) > p.o.Late:
		return note(day, "Hob was not running at that time", "")
	}
	payload, err := json.Marshal(planOf{Day: day})
	if err != nil {
		return err
	}
	acc, err := p.o.Bus.Inbox.PutTx(tx, bus.Event{
		ID: bus.NewID(), Kind: bus.System, Source: PlanSource, Session: PlanSource, Key: "plan:" + day, Text: "The plan of the day, " + day, Payload: payload, Provenance: provenance.Hob,
	})
	if err != nil {
		return err
	}
	return note(day, "told", acc.Event)
}

// planOf is the payload of an event for the plan of the day.
type planOf struct {
	Day string `json:"day"`
}

// IsOver reports whether the day of a plan has passed. The next day has its own plan.
func (p *Plan) IsOver(ev bus.Event, now time.Time) bool {
	var of planOf
	return json.Unmarshal(ev.Payload, &of) == nil && of.Day != "" && of.Day < now.In(p.o.Zone()).Format(time.DateOnly)
}

//go:embed text/plan.tmpl
var planText string

// planSection is one part of the plan, as the template sees it.
type planSection struct {
	Title string
	Lines []string
}

// Today returns the nonempty sections for today.
func (p *Plan) Today(ctx context.Context, now time.Time) ([]tools.BriefSection, provenance.Source) {
	local := now.In(p.o.Zone())
	from := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, local.Location())
	all, src := tools.Brief(ctx, p.o.Sections, from, from.AddDate(0, 0, 1))
	return slices.DeleteFunc(all, func(s tools.BriefSection) bool { return len(s.Items) == 0 && s.Error == "" }), src
}

// Text returns the plan for today, or "" if it is empty.
func (p *Plan) Text(ctx context.Context, now time.Time) (string, provenance.Source, error) {
	local := now.In(p.o.Zone())
	view := struct {
		Day      string
		Sections []planSection
	}{Day: local.Format("Monday 2 January")}
	sections, src := p.Today(ctx, now)
	worth := false
	for _, s := range sections {
		sec := planSection{Title: s.Title}
		if s.Error != "" { // show the error, which must not look like an empty section
			p.o.Log.WarnContext(ctx, "section of the plan not read", "part", s.Title, "err", s.Error)
			sec.Lines = append(sec.Lines, "could not be read: "+s.Error)
			worth = true
		}
		for _, it := range s.Items {
			line := it.Text
			if !it.At.IsZero() {
				line = it.At.In(local.Location()).Format("15:04") + " " + line
			}
			sec.Lines = append(sec.Lines, line)
			worth = worth || !it.Beside
		}
		view.Sections = append(view.Sections, sec)
	}
	if !worth {
		return "", provenance.Hob, nil
	}
	if !src.Tainted() {
		src = provenance.Hob
	}
	tmpl, err := minitmpl.Parse(planText)
	if err != nil {
		return "", src, fmt.Errorf("plan of the day: parse the template: %w", err)
	}
	var b strings.Builder
	if err := tmpl.Execute(&b, view); err != nil {
		return "", src, fmt.Errorf("plan of the day: fill in the template: %w", err)
	}
	return strings.TrimSpace(b.String()), src, nil
}

// Brief adds goals to a briefing: goals that are waiting for the user, and goals with a review on
// that day.
type Brief struct{ Store *store.Store }

// BriefTitle implements tools.BriefSource.
func (Brief) BriefTitle() string { return "Goals" }

// most is the maximum number of goals in a briefing.
const most = 10

// Brief implements tools.BriefSource.
func (b Brief) Brief(ctx context.Context, from, to time.Time) ([]tools.BriefItem, error) {
	list, err := ListIn(b.Store.Reader(ctx), false)
	if err != nil {
		return nil, err
	}
	var out []tools.BriefItem
	for _, g := range list {
		text := g.Name()
		switch {
		case len(out) == most:
			return append(out, tools.BriefItem{Text: fmt.Sprintf("and %d more: hob goal list", len(list)-most), Source: provenance.Hob}), nil
		case g.Status == string(Waiting):
			text += " (waiting for your answer)"
		case g.Status != string(Active) || !g.NextAt.Before(to):
			continue
		case g.Reason != "":
			text += " (reviewed " + dateparse.FormatDay(g.LastAt.In(from.Location()), from) + ": " + api.DecisionText(g.Last) + ")"
		}
		out = append(out, tools.BriefItem{Text: text, Source: g.Provenance})
	}
	return out, nil
}
