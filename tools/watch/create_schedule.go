package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
	"hob/tools"
	"hob/watchers"
)

type scheduleIn struct {
	Every  string `json:"every,omitempty" jsonschema:"weekday at 8:30, or cron"`
	At     string `json:"at,omitempty" jsonschema:"time, in words or RFC 3339"`
	Action string `json:"action" jsonschema:"what to do, in plain words"`
	Missed string `json:"missed,omitempty" jsonschema:"runs missed while off: run_once (default), skip, run_all"`
}

func (d Deps) createSchedule() tools.Tool {
	f := d.newFamily("schedule")
	return tools.New(tools.Def[scheduleIn]{
		Spec: tools.Spec{
			Name: "create_schedule", Category: "watch", Effects: tools.Write, Starts: tools.AnyEffect, Core: true,
			Description: "Do something by yourself once (at) or repeatedly (every).",
			Keywords:    "cron recurring regularly daily weekly timer job automate",
		},
		Summary: func(in scheduleIn) string {
			return fmt.Sprintf("Schedule (%s): %s", strings.TrimSpace(in.Every+in.At), textnorm.Ellipsize(in.Action, 120))
		},
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in scheduleIn) (tools.Result, error) {
			action := strings.TrimSpace(strings.ToValidUTF8(in.Action, "\uFFFD"))
			if action == "" {
				return tools.Result{}, tools.Errorf(tools.InvalidArguments, "action is empty; describe what to do")
			}
			kind, config, err := watchers.ParseSchedule(in.At, in.Every, c.Now)
			if err != nil {
				return tools.Result{}, classifyError(err)
			}
			s, err := d.Manager.CreateTx(tx, watchers.Spec{
				Kind: kind, Config: config, Mode: watchers.Do, Action: action, Report: c.Report, Agent: c.Agent,
				Missed: watchers.MisfirePolicy(strings.ToLower(strings.TrimSpace(in.Missed))), Provenance: callProvenance(c), CreatedAt: c.Now,
			})
			if err != nil {
				return tools.Result{}, classifyError(err)
			}
			text := fmt.Sprintf("Scheduled %s: %s.", dateparse.Format(s.NextAt, c.Now), strings.TrimRight(action, "."))
			if kind == watchers.KindCron {
				what := s
				what.Action = ""
				text = fmt.Sprintf("Scheduled %s: %s. Next: %s.", d.Manager.Describe(what), strings.TrimRight(action, "."), d.Manager.NextWords(s, c.Now))
			}
			return tools.Result{
				Source: provenance.Tool,
				Text:   text, Data: f.newRow(s),
				Undo: tools.NewUndo("cancel the schedule "+d.Manager.Describe(s), createUndo{ID: s.ID}),
			}, nil
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			return f.undoCreate(tx, data)
		},
	})
}
