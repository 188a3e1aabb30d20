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
	Kind     string         `json:"kind"`
	Config   map[string]any `json:"config"`
	Action   string         `json:"action,omitempty" jsonschema:"what to do; empty: only notify"`
	ReportTo string         `json:"report_to,omitempty" jsonschema:"session"`
}

func (d Deps) createWatcher() tools.Tool {
	f := d.newFamily("watcher")
	return tools.New(tools.Def[watcherIn]{
		Arguments: d.kindArguments(),
		Spec: tools.Spec{
			Name: "create_watcher", Category: "watch", Effects: tools.Write | tools.Egress | tools.Secret, Starts: tools.AnyEffect, Core: true,
			Description: "Watch for something and notify the user or act.",
			Keywords:    d.kindKeywords(),
		},
		Judge: func(_ context.Context, in watcherIn) tools.CallAssessment {
			config, err := json.Marshal(in.Config)
			if err != nil {
				return tools.CallAssessment{Effects: tools.Write} // the call itself reports the error
			}
			return d.assessWatcher(tools.Write, in.normalizedKind(), config)
		},
		Summary: func(in watcherIn) string {
			s := "Watch " + d.describeSource(in.normalizedKind(), in.Config)
			if mode, action := modeOf(in.Action); mode == watchers.Do {
				return s + " and then: " + textnorm.Ellipsize(action, 120)
			}
			return s + " and notify you"
		},
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in watcherIn) (tools.Result, error) {
			kind := in.normalizedKind()
			if d.isTimed(kind) {
				return tools.Result{}, tools.Errorf(tools.InvalidArguments, "for fixed times use create_schedule or create_reminder")
			}
			if kind == watchers.KindIntent {
				return tools.Result{}, tools.Errorf(tools.InvalidArguments, "for an intent use create_intent")
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
				text = fmt.Sprintf("I am watching %s. Each time, I will do this: %s.", d.Manager.Describe(what), strings.TrimRight(action, "."))
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

// describeSource describes what a watcher with this configuration would watch.
func (d Deps) describeSource(kind string, config map[string]any) string {
	raw, err := json.Marshal(config)
	s := watchers.Spec{Kind: kind, Config: raw}
	if err != nil || d.Manager == nil || s.ExtractPace() != nil {
		return textnorm.Ellipsize(kind, 40)
	}
	return textnorm.Ellipsize(d.Manager.Describe(s), 200)
}

func (in watcherIn) normalizedKind() string { return strings.ToLower(strings.TrimSpace(in.Kind)) }

// eventKinds describes the kinds of watchers that have no other tool.
func (d Deps) eventKinds() []watchers.Description {
	if d.Manager == nil {
		return nil
	}
	return slices.DeleteFunc(d.Manager.Kinds(), func(k watchers.Description) bool { return k.Timed || k.Intent || k.Tool != "" })
}

// isTimed reports whether watchers of a kind fire at set times instead of on events.
func (d Deps) isTimed(kind string) bool {
	return slices.ContainsFunc(d.Manager.Kinds(), func(k watchers.Description) bool { return k.Kind == kind && k.Timed })
}

// kindArguments describes the arguments kind and config.
func (d Deps) kindArguments() map[string]string {
	var kinds, pushed []string
	var config strings.Builder
	for _, k := range d.eventKinds() {
		kinds = append(kinds, k.Kind)
		if !k.Polled {
			pushed = append(pushed, k.Kind)
		}
		config.WriteString(k.Kind + ": " + k.Options + "; ")
	}
	config.WriteString("all: active_hours? (mon-fri 08:00-18:00), per_day?")
	if len(pushed) < len(kinds) {
		config.WriteString("; all but " + strings.Join(pushed, ", ") + ": every?")
	}
	return map[string]string{"kind": strings.Join(kinds, ", "), "config": config.String()}
}

func (d Deps) kindKeywords() string {
	words := "monitor observe watch new notify when"
	for _, k := range d.eventKinds() {
		words += " " + k.Keywords
	}
	return words
}

// assessWatcher assesses the creation of a watcher. A local kind needs only the effects in own. A
// kind that queries a server also contacts the server and sends the named secret to this server.
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
	if len(reach.Servers) > 0 { // an MCP server has no URL that the guard could allow
		j.Effects |= tools.Egress
		j.Why = "reads from the MCP server " + strings.Join(reach.Servers, ", ")
		if own == tools.Write {
			j.Why += " repeatedly"
		}
	}
	if reach.Query != "" {
		j.Effects |= tools.Egress
		j.Query, j.Why = reach.Query, "asks the search service repeatedly"
	}
	if len(reach.Secrets) > 0 {
		j.Effects |= tools.Secret
		j.Why += " with the secret " + strings.Join(reach.Secrets, ", ")
	}
	return j
}
