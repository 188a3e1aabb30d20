// Package watch provides tools for watchers (create_watcher, list_watchers, cancel_watcher,
// pause_watcher, update_watcher, try_watcher), standing intents (create_intent, list_intents,
// cancel_intent), news (track_topic, track_feed, untrack_feed), schedules (create_schedule, list_schedules,
// cancel_schedule, pause_schedule), goals (create_goal, list_goals, update_goal, pause_goal,
// complete_goal, delete_goal) and snooze_notice.
//
// The watchers' manager and the engine store and run the watchers, schedules and goals. This
// package parses requests and describes the results. The tools for reminders are in package tasks.
package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/dateparse"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	"hob/tools"
	"hob/watchers"
)

// Manager manages watchers; *watchers.Manager implements it.
type Manager interface {
	CreateTx(tx *store.Tx, spec watchers.Spec) (watchers.Spec, error)
	CancelTx(tx *store.Tx, id string) (watchers.Spec, error)
	RestoreTx(tx *store.Tx, spec watchers.Spec) error
	SetStateTx(tx *store.Tx, id string, state watchers.State) (watchers.Spec, error)
	SetPaceTx(tx *store.Tx, id string, change watchers.PollPolicy) (before, after watchers.Spec, err error)
	RestorePaceTx(tx *store.Tx, id string, pace watchers.PollPolicy) (watchers.Spec, error)
	ListIn(q store.Querier, f watchers.Filter) ([]watchers.Spec, error)
	Kinds() []watchers.Description
	Describe(s watchers.Spec) string
	Coming(s watchers.Spec, n int) []time.Time
	NextWords(s watchers.Spec, now time.Time) string
	Reach(kind string, config json.RawMessage) (watchers.NetworkTargets, error)
	Find(ctx context.Context, words string, f watchers.Filter) (watchers.Spec, error)
	Past(ctx context.Context, s watchers.Spec, since, until time.Time) ([]watchers.Signal, error)
	Called(q store.Querier, name string) []string
}

// Deps are the dependencies of the tools.
type Deps struct {
	Manager Manager
	// Goals stores goals and Notices stores notifications. If one is nil, its tools are omitted.
	Goals   Goals
	Notices Notices
	// Senders lists the accounts of other people whose messages Hob accepted. If it is nil, there
	// are none.
	Senders func(q store.Querier) ([]watchers.Sender, error)
}

// Tools returns the category's tools.
func Tools(d Deps) []tools.Tool {
	w, s, i := d.newFamily("watcher"), d.newFamily("schedule"), d.newFamily("intent")
	return append([]tools.Tool{
		d.createWatcher(), w.listWatchers(), w.cancelWatcher(), w.pauseWatcher(), w.updateWatcher(),
		d.tryWatcher(), d.createSchedule(), s.listSchedules(), s.cancelSchedule(), s.pauseSchedule(),
		d.createIntent(), i.listIntents(), i.cancelIntent(),
		d.trackTopic(), d.trackFeed(), d.untrackFeed(),
	}, append(d.goalTools(), d.noticeTools()...)...)
}

// watcherFamily represents either watchers, schedules or intents. Their tools share code.
type watcherFamily struct {
	m    Manager
	noun string
}

func (d Deps) newFamily(noun string) watcherFamily { return watcherFamily{m: d.Manager, noun: noun} }

// livingMembers returns the active and paused members of the family. Watchers are sorted newest
// first, schedules by their next time.
func (f watcherFamily) livingMembers(q store.Querier) ([]watchers.Spec, error) {
	all, err := f.m.ListIn(q, watchers.Filter{
		Modes:  []watchers.Mode{watchers.Do, watchers.Notify, watchers.Show, watchers.Tell},
		States: []watchers.State{watchers.Active, watchers.Paused, watchers.Broken},
	})
	if err != nil {
		return nil, classifyError(err)
	}
	out := []watchers.Spec{}
	for _, s := range all {
		if s.Timed == (f.noun == "schedule") && (s.Kind == watchers.KindIntent) == (f.noun == "intent") {
			out = append(out, s)
		}
	}
	if f.noun == "schedule" {
		sorting.StableByFunc(out, func(a, b watchers.Spec) int { return cmp.Or(a.NextAt.Compare(b.NextAt), strings.Compare(a.ID, b.ID)) })
	}
	return out, nil
}

// findWatcher finds the watcher whose id, action or complete description equals query.
func (f watcherFamily) findWatcher(q store.Querier, query string) (watchers.Spec, error) {
	list, err := f.livingMembers(q)
	if err != nil {
		return watchers.Spec{}, err
	}
	s, err := tools.Pick(f.noun, query, list, func(s watchers.Spec) (string, string) { return s.ID, f.m.Describe(s) })
	if err != nil && errors.Is(err, tools.ErrAmbiguous) {
		if one, oerr := tools.Pick(f.noun, query, list, func(s watchers.Spec) (string, string) {
			return s.ID, cmp.Or(s.Action, f.m.Describe(s))
		}); oerr == nil {
			return one, nil
		}
	}
	return s, tools.Quoting(err, sourceOf(list))
}

// listText formats a list of watchers of the family.
func (f watcherFamily) listText(list []watchers.Spec, now time.Time) string {
	if len(list) == 0 {
		return "There are no " + f.noun + "s."
	}
	var b strings.Builder
	noun := f.noun
	if len(list) > 1 {
		noun += "s"
	}
	fmt.Fprintf(&b, "%d %s:", len(list), noun)
	for _, s := range list {
		b.WriteString("\n- " + textnorm.Ellipsize(f.m.Describe(s), 200))
		if more := f.statusText(s, now); more != "" {
			b.WriteString(" (" + more + ")")
		}
	}
	return b.String()
}

// statusText describes the state of a watcher.
func (f watcherFamily) statusText(s watchers.Spec, now time.Time) string {
	var parts []string
	switch s.State {
	case watchers.Paused:
		parts = append(parts, "paused")
	case watchers.Broken:
		parts = append(parts, "not working: "+textnorm.Ellipsize(s.LastError, 120))
	default:
		if next := f.m.NextWords(s, now); next != "" {
			parts = append(parts, "next "+next)
		}
	}
	if !s.FiredAt.IsZero() {
		parts = append(parts, "last fired "+dateparse.Format(s.FiredAt, now))
	}
	return strings.Join(parts, ", ")
}

// watcherRow is one watcher or schedule in the Data of a result.
type watcherRow struct {
	watchers.Spec
	Description string `json:"description"`
	// Coming contains the next three times of a schedule.
	Coming []time.Time `json:"coming,omitempty"`
}

func (f watcherFamily) newRow(s watchers.Spec) watcherRow {
	return watcherRow{Spec: s, Description: f.m.Describe(s), Coming: f.m.Coming(s, 3)}
}

func (f watcherFamily) newRows(list []watchers.Spec) []watcherRow {
	out := make([]watcherRow, len(list))
	for i, s := range list {
		out[i] = f.newRow(s)
	}
	return out
}

// sourceOf returns the provenance of watcher descriptions. An error in them may quote a server or
// an email.
func sourceOf(list []watchers.Spec) provenance.Source {
	if slices.ContainsFunc(list, func(s watchers.Spec) bool { return s.Provenance.Tainted() || s.LastError != "" }) {
		return provenance.Outside
	}
	return provenance.Tool
}

// callProvenance returns the provenance of a new watcher.
func callProvenance(c tools.Call) provenance.Source { return provenance.Worst(c.Provenance) }

// classifyError maps the manager's errors to tool errors.
func classifyError(err error) error {
	switch {
	case errors.Is(err, watchers.ErrInvalid):
		return tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))
	case errors.Is(err, watchers.ErrNotFound):
		return tools.Errorf(tools.NotFound, "%w", tools.CleanErr(err))
	}
	return err
}

// told lists actions that only request a notification.
var told = []string{
	"tell me", "notify me", "let me know", "alert me", "inform me", "tell the owner", "notify the owner", "notify", "just tell me",
	"tell me about it", "let me know about it", "send me a notification", "ping me", "message me",
}

// modeOf splits an action into its mode (Notify or Do) and the task.
func modeOf(action string) (watchers.Mode, string) {
	action = strings.TrimSpace(strings.ToValidUTF8(action, "\uFFFD"))
	if action == "" || slices.ContainsFunc(told, func(t string) bool {
		return textnorm.EqualFolded(strings.TrimPrefix(strings.ToLower(action), "please "), t)
	}) {
		return watchers.Notify, ""
	}
	return watchers.Do, action
}

// createUndo is the undo data of the create and cancel tools.
type createUndo struct {
	ID string `json:"id"`
}

func decodeUndo[T any](data json.RawMessage) (T, error) {
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		return v, tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	return v, nil
}

// undoCreate cancels the created watcher.
func (f watcherFamily) undoCreate(tx *store.Tx, data json.RawMessage) (string, error) {
	u, err := decodeUndo[createUndo](data)
	if err != nil {
		return "", err
	}
	s, err := f.m.CancelTx(tx, u.ID)
	if errors.Is(err, watchers.ErrNotFound) {
		return "", tools.Errorf(tools.NotFound, "the %s was canceled", tools.Clean(f.noun))
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Canceled the %s: %s.", f.noun, f.m.Describe(s)), nil
}
