package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
	"hob/tools"
	"hob/watchers"
)

// Limits of a trial run.
const (
	usualDays = 7
	maxDays   = 31
	maxShown  = 50
)

type tryIn struct {
	Watcher string         `json:"watcher,omitempty" jsonschema:"id or words of an existing watcher"`
	Kind    string         `json:"kind,omitempty" jsonschema:"otherwise the kind, as for create_watcher"`
	Config  map[string]any `json:"config,omitempty" jsonschema:"as for create_watcher"`
	Days    int            `json:"days,omitempty" jsonschema:"how far back (7)"`
}

// trialData is the Data of try_watcher.
type trialData struct {
	Since   time.Time     `json:"since"`
	Count   int           `json:"count"`
	Signals []trialSignal `json:"signals"`
}

// trialSignal is one event that would have fired.
type trialSignal struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

func (d Deps) tryWatcher() tools.Tool {
	return tools.New(tools.Def[tryIn]{
		Spec: tools.Spec{
			Name: "try_watcher", Category: "watch", Effects: tools.Read | tools.Egress | tools.Secret, Timeout: 3 * time.Minute,
			Description: "Test a watcher without creating it: what would have fired in the last days.",
			Keywords:    "dry run test past week",
		},
		Summary: func(in tryIn) string {
			if in.Watcher != "" {
				return "Show what the watcher would have found: " + textnorm.Ellipsize(in.Watcher, 160)
			}
			return "Show what would have been found in " + d.describeSource(strings.ToLower(strings.TrimSpace(in.Kind)), in.Config)
		},
		Judge: func(ctx context.Context, in tryIn) tools.CallAssessment {
			s, err := d.tryTarget(ctx, in)
			if err != nil {
				return tools.CallAssessment{Refused: err}
			}
			return d.assessWatcher(tools.Read, s.Kind, s.Config)
		},
		Run: func(ctx context.Context, c tools.Call, in tryIn) (tools.Result, error) {
			s, err := d.tryTarget(ctx, in)
			if err != nil {
				return tools.Result{}, err
			}
			if s.ID == "" { // the caller would have invented any other id
				s.Provenance = callProvenance(c)
			}
			days := cmp.Or(in.Days, usualDays)
			since := c.Now.AddDate(0, 0, -days)
			list, err := d.Manager.Past(ctx, s, since, c.Now)
			if errors.Is(err, watchers.ErrNoPast) {
				err = tools.Errorf(tools.Unsupported, "%w", err)
			}
			if err != nil { // the error may quote a server
				return tools.Result{}, tools.Quoting(classifyError(err), provenance.Outside)
			}
			r := tools.Result{Source: sourceOf([]watchers.Spec{s}), Text: trialText(list, days, c.Now), Data: dataOf(list, since)}
			if !d.isTimed(s.Kind) {
				r.Source = provenance.Outside
			}
			return r, nil
		},
	})
}

// tryTarget returns the existing watcher that in names, or the watcher that its arguments would
// create.
func (d Deps) tryTarget(ctx context.Context, in tryIn) (watchers.Spec, error) {
	switch {
	case (in.Watcher == "") == (in.Kind == ""):
		return watchers.Spec{}, tools.Errorf(tools.InvalidArguments, "give either watcher, or kind and config")
	case in.Days < 0 || in.Days > maxDays:
		return watchers.Spec{}, tools.Errorf(tools.InvalidArguments, "days must be 1 to %d", maxDays)
	case in.Watcher != "":
		s, err := d.Manager.Find(ctx, in.Watcher, watchers.Filter{})
		if errors.Is(err, watchers.ErrAmbiguous) {
			err = tools.Errorf(tools.InvalidArguments, "%w", err)
		}
		return s, tools.Quoting(classifyError(err), provenance.Outside) // the error quotes the names of other watchers
	}
	config, err := json.Marshal(in.Config)
	if in.Config == nil {
		config = json.RawMessage("{}")
	}
	return watchers.Spec{Kind: strings.ToLower(strings.TrimSpace(in.Kind)), Config: config}, err
}

func dataOf(list []watchers.Signal, since time.Time) trialData {
	h := trialData{Since: since, Count: len(list), Signals: []trialSignal{}}
	for _, s := range list {
		h.Signals = append(h.Signals, trialSignal{At: s.At, Text: s.Text})
	}
	return h
}

func trialText(list []watchers.Signal, days int, now time.Time) string {
	span := fmt.Sprintf("In the last %d days it would", days)
	if days == 1 {
		span = "In the last day it would"
	}
	if len(list) == 0 {
		return span + " not have fired."
	}
	text := span + fmt.Sprintf(" have fired %d times", len(list))
	if len(list) == 1 {
		text = span + " have fired once"
	}
	if len(list) > maxShown {
		text += fmt.Sprintf(", the last %d of them", maxShown)
		list = list[len(list)-maxShown:]
	}
	var b strings.Builder
	b.WriteString(text + ":")
	for _, s := range list {
		b.WriteString("\n- " + dateparse.Format(s.At, now) + ": " + textnorm.Ellipsize(s.Text, 300))
	}
	return b.String()
}
