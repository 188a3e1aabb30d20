package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/bus"
	"hob/autonomy/config"
	"hob/autonomy/skills"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	"hob/templates"
	"hob/tools"
)

const (
	// maxTimelineText is the maximum length of the text of an entry, in characters.
	maxTimelineText = 500
	// sameTime is the number of additional rows that are read, because the rows of one millisecond
	// cannot be divided by the time in a cursor.
	sameTime = 200
)

// Timeline implements api.Timeline.
func (sv *Service) Timeline(ctx context.Context, q api.TimelineQuery) ([]api.TimelineEntry, error) {
	since, until := q.Since, q.Until
	if until.IsZero() {
		until = time.Now().Add(time.Hour)
	}
	if q.Before != "" {
		at, err := timelineCursor(q.Before)
		if err != nil {
			return nil, err
		}
		if next := at.Add(time.Millisecond); next.Before(until) {
			until = next
		}
	}
	limit := q.Limit + sameTime
	var out []api.TimelineEntry
	for _, kind := range []string{api.TimelineAction, api.TimelineLookup, api.TimelineDenied, api.TimelineMessage, api.TimelineNotice} {
		if q.Kind != kind && (q.Kind != "" || kind == api.TimelineLookup) {
			continue
		}
		list, err := sv.timelineOf(ctx, kind, since, until, limit)
		if err != nil {
			return nil, Classify(err)
		}
		out = append(out, list...)
	}
	if err := oneOf(q.Kind, api.TimelineAction, api.TimelineLookup, api.TimelineDenied, api.TimelineMessage, api.TimelineNotice); err != nil {
		return nil, err
	}
	sorting.ByFunc(out, func(x, y api.TimelineEntry) int { return cmp.Or(y.At.Compare(x.At), cmp.Compare(y.ID, x.ID)) })
	if q.Before != "" {
		at, _ := timelineCursor(q.Before) // checked above
		out = slices.DeleteFunc(out, func(e api.TimelineEntry) bool { return e.At.Equal(at) && e.ID >= q.Before })
	}
	return out[:min(len(out), q.Limit)], nil
}

// timelineID returns the id of an entry. It begins with the time of the entry in milliseconds.
func timelineID(at time.Time, id string) string {
	return strconv.FormatInt(at.UnixMilli(), 10) + "." + id
}

func timelineCursor(id string) (time.Time, error) {
	ms, _, _ := strings.Cut(id, ".")
	n, err := strconv.ParseInt(ms, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: before=%q is not the id of an entry; use the id of the last entry", api.ErrInvalid, id)
	}
	return time.UnixMilli(n).UTC(), nil
}

// timelineOf returns the entries of one kind.
func (sv *Service) timelineOf(ctx context.Context, kind string, since, until time.Time, limit int) (out []api.TimelineEntry, err error) {
	switch kind {
	case api.TimelineMessage:
		list, err := sv.o.Bus.Outbox.MessagesBetween(ctx, since, until, limit)
		for _, d := range list {
			out = append(out, api.TimelineEntry{
				ID: timelineID(d.CreatedAt, d.ID), Kind: kind, At: d.CreatedAt, Event: d.Event, Session: d.Session, Channel: d.Channel,
				Text: textnorm.Ellipsize(d.Text, maxTimelineText), State: string(d.State), Reason: d.Error,
			})
		}
		return out, err
	case api.TimelineNotice:
		list, err := sv.o.Notices.UnsentBetween(ctx, since, until, limit)
		for _, n := range list {
			text, err := sv.o.Notices.NoticeText(ctx, n)
			if err != nil {
				return nil, err
			}
			out = append(out, api.TimelineEntry{
				ID: timelineID(n.CreatedAt, n.ID), Kind: kind, At: n.CreatedAt, Event: n.Event, Session: n.Session,
				Text: textnorm.Ellipsize(cmp.Or(text, n.Subject), maxTimelineText), State: string(n.State), Reason: n.Why, Provenance: n.Provenance,
			})
		}
		return out, err
	}
	list, err := sv.o.Bus.Ledger.CallsBetween(ctx, since, until, kind == api.TimelineLookup, kind == api.TimelineDenied, limit)
	for _, e := range list {
		x := sv.timelineCall(kind, e)
		if e.Tool == "undo" {
			if x.Text, err = sv.describeUndo(ctx, e, x.Text); err != nil {
				return nil, err
			}
		}
		out = append(out, x)
	}
	return out, err
}

// timelineCall returns the entry of a tool call.
func (sv *Service) timelineCall(kind string, e bus.Entry) api.TimelineEntry {
	out := api.TimelineEntry{
		ID: timelineID(e.StartedAt, e.Call), Kind: kind, At: e.StartedAt, Event: e.Event, Session: e.Session, State: string(e.State), Provenance: e.Source,
		Text: sv.describeCall(e),
	}
	switch {
	case e.Code != "":
		out.Reason = textnorm.Ellipsize(e.Result, maxTimelineText)
	case !e.UndoneAt.IsZero():
		out.State = "undone"
	case isUndoable(e):
		out.Undo = e.Call
	}
	return out
}

// isUndoable reports whether a call has a record for its undo. The undo itself may still fail.
func isUndoable(e bus.Entry) bool {
	return e.Undo != nil && e.State == bus.CallDone && e.UndoneAt.IsZero()
}

// describeCall returns a sentence that says what a call does.
func (sv *Service) describeCall(e bus.Entry) string {
	text := strings.ReplaceAll(e.Tool, "_", " ")
	if slices.Contains([]string{config.ChangeTool, templates.ChangeTool, skills.ChangeTool}, e.Tool) { // only the result says what changed
		text = cmp.Or(e.Result, text)
	}
	if t, ok := sv.o.Catalog.Get(e.Tool); ok {
		if s, ok := t.(tools.Summarizer); ok {
			text = cmp.Or(s.Summary(e.Args), text)
		}
	}
	return textnorm.Ellipsize(text, maxTimelineText)
}

// describeUndo names the actions that a call of undo undid, or the action that it redid. It returns text
// if the ledger does not say which.
func (sv *Service) describeUndo(ctx context.Context, e bus.Entry, text string) (string, error) {
	var in struct{ ID string }
	if err := json.Unmarshal(e.Args, &in); err == nil && in.ID != "" {
		x, err := sv.o.Bus.Ledger.Call(ctx, in.ID)
		if errors.Is(err, bus.ErrNotFound) {
			return text, nil
		}
		return textnorm.Ellipsize(strings.Replace(text, " "+in.ID, ": "+sv.describeCall(x), 1), maxTimelineText), err
	}
	list, err := sv.o.Bus.Ledger.UndoneBy(ctx, e.Event)
	if err != nil || len(list) == 0 {
		return text, err
	}
	var names []string
	for _, x := range list {
		names = append(names, sv.describeCall(x))
	}
	return textnorm.Ellipsize("Undo: "+strings.Join(names, "; "), maxTimelineText), nil
}
