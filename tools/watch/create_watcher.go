package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
	"hob/watchers"
)

type watcherIn struct {
	Kind     string         `json:"kind" jsonschema:"file, email, message, calendar, feed, page, github"`
	Config   map[string]any `json:"config" jsonschema:"file: path, pattern?, events? (created, modified, removed), recursive?; email: from?, to?, subject?, words? (lists), folder?, account?; message: from?, words?, channel?, chat?; calendar: before? (15m), tell? (starts, added, changed, moved, cancelled), words?, account?; feed: url, words?; page: url, select? (CSS) or from? to?, words?; github: repo, what? (issues, pulls, releases, runs, failures, events), words?; all: active_hours? (mon-fri 08:00-18:00), per_day?; calendar, feed, page, github also: every?"`
	Action   string         `json:"action,omitempty" jsonschema:"what to do; empty: just tell"`
	ReportTo string         `json:"report_to,omitempty" jsonschema:"session"`
}

func (d Deps) createWatcher() tools.Tool {
	f := d.newFamily("watcher")
	return tools.New(tools.Def[watcherIn]{
		Spec: tools.Spec{
			Name: "create_watcher", Category: "watch", Effects: tools.Write | tools.Egress | tools.Secret, Starts: tools.AnyEffect, Core: true,
			Description: "Watch for something and tell the user or act.",
			Keywords:    "monitor observe watch folder file mail email sender message chat person keyword mention calendar event meeting new notify when feed rss news site page change github issue pull request release",
		},
		Judge: func(_ context.Context, in watcherIn) tools.CallAssessment {
			config, err := json.Marshal(in.Config)
			if err != nil {
				return tools.CallAssessment{Effects: tools.Write} // create refuses it
			}
			return d.assessWatcher(tools.Write, in.normalizedKind(), config)
		},
		Summary: func(in watcherIn) string {
			config, _ := json.Marshal(in.Config)
			s := fmt.Sprintf("Watch (%s) %s", in.Kind, textnorm.Ellipsize(string(config), 160))
			if mode, action := modeOf(in.Action); mode == watchers.Do {
				return s + " and then: " + textnorm.Ellipsize(action, 120)
			}
			return s + " and notify you"
		},
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in watcherIn) (tools.Result, error) {
			kind := in.normalizedKind()
			if isSchedule(kind) {
				return tools.Result{}, tools.Errorf(tools.InvalidArguments, "for fixed times use create_schedule or create_reminder")
			}
			config, err := json.Marshal(in.Config)
			if err != nil {
				return tools.Result{}, tools.Errorf(tools.InvalidArguments, "config cannot be saved: %w", err)
			}
			mode, action := modeOf(in.Action)
			s, err := d.Manager.CreateTx(tx, watchers.Spec{
				Kind: kind, Config: config, Mode: mode, Action: action, Report: cmp.Or(strings.TrimSpace(in.ReportTo), c.Report),
				Agent: c.Agent, Provenance: callProvenance(c), CreatedAt: c.Now,
			})
			if err != nil {
				return tools.Result{}, classifyError(err)
			}
			what := s
			what.Action = ""
			text := fmt.Sprintf("I am watching %s and will notify you.", d.Manager.Describe(what))
			if mode == watchers.Do {
				text = fmt.Sprintf("I am watching %s, and then will: %s.", d.Manager.Describe(what), strings.TrimRight(action, "."))
			}
			return tools.Result{
				Source: provenance.Tool,
				Text:   text, Data: watcherRow{Spec: s, Description: d.Manager.Describe(s)},
				Undo: tools.NewUndo("stop watching "+d.Manager.Describe(what), createUndo{ID: s.ID}),
			}, nil
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			return f.undoCreate(tx, data)
		},
	})
}

func (in watcherIn) normalizedKind() string { return strings.ToLower(strings.TrimSpace(in.Kind)) }

// assessWatcher assesses a new watcher: a local kind needs no more than own; a kind that queries a
// server contacts it and sends it the named secret.
func (d Deps) assessWatcher(own tools.Effects, kind string, config json.RawMessage) tools.CallAssessment {
	reach, err := d.Manager.Reach(kind, config)
	if err != nil {
		return tools.CallAssessment{Refused: classifyError(err)}
	}
	j := tools.CallAssessment{Effects: own}
	if len(reach.URLs) > 0 {
		j.Effects |= tools.Egress
		j.URLs, j.Get = reach.URLs, true
		var hosts []string
		for _, u := range reach.URLs {
			if at, err := url.Parse(u); err == nil && !slices.Contains(hosts, at.Host) {
				hosts = append(hosts, at.Host)
			}
		}
		j.Why = "contacts " + strings.Join(hosts, ", ")
		if own == tools.Write {
			j.Why += " repeatedly"
		}
	}
	if len(reach.Secrets) > 0 {
		j.Effects |= tools.Secret
		j.Why += " with the secret " + strings.Join(reach.Secrets, ", ")
	}
	return j
}
