package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type goalIn struct {
	Description string `json:"description" jsonschema:"what should be achieved, in plain words"`
	Success     string `json:"success,omitempty" jsonschema:"when it is reached"`
	Priority    int    `json:"priority,omitempty" jsonschema:"1 to 5, default 3"`
	CheckEvery  string `json:"check_every,omitempty" jsonschema:"such as 6h or 2 days, default 1h"`
	NextReview  string `json:"next_review,omitempty" jsonschema:"first review, in words or RFC 3339; default now"`
	ReportTo    string `json:"report_to,omitempty" jsonschema:"session"`
}

// none is the value that clears a field.
const none = "none"

func (d Deps) createGoal() tools.Tool {
	return tools.New(tools.Def[goalIn]{
		Spec: tools.Spec{
			Name: "create_goal", Category: "watch", Effects: tools.Write, Starts: tools.AnyEffect,
			Description: "Take on a goal: work towards something by yourself over time, with regular reviews until it is reached.",
			Keywords:    "objective aim pursue achieve keep working on autonomous mission target long term",
		},
		Summary: func(in goalIn) string { return fmt.Sprintf("Add the goal %q", textnorm.Ellipsize(in.Description, 160)) },
		RunTx: func(ctx context.Context, tx *store.Tx, c tools.Call, in goalIn) (tools.Result, error) {
			g := Goal{
				Description: in.Description, Success: in.Success, Priority: in.Priority, Report: c.Report, Agent: c.Agent, Provenance: callProvenance(c), CreatedAt: c.Now,
			}
			if to := strings.TrimSpace(in.ReportTo); to != "" {
				g.Report = to
			}
			var err error
			if g.Every, err = everyField(in.CheckEvery, c.Now); err != nil {
				return tools.Result{}, err
			}
			if g.NextAt, err = reviewField(in.NextReview, c.Now); err != nil {
				return tools.Result{}, err
			}
			g, note, err := d.Goals.CreateTx(ctx, tx, c, g)
			if err != nil {
				return tools.Result{}, classifyGoal(err)
			}
			text := fmt.Sprintf("Added the goal %q. I review it every %s.", goalName(g), formatInterval(g.Every))
			if note != "" {
				text += " " + note
			}
			return tools.Result{
				Text: text, Data: g, Source: goalSource(g),
				Undo: tools.NewUndo(fmt.Sprintf("remove the goal %q", goalName(g)), createUndo{ID: g.ID}),
			}, nil
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			u, err := decodeUndo[createUndo](data)
			if err != nil {
				return "", err
			}
			if err := d.Goals.DropTx(tx, u.ID); errors.Is(err, api.ErrInvalid) {
				return "", tools.Errorf(tools.NotFound, "the goal was removed")
			} else if err != nil {
				return "", err
			}
			return "Removed the goal.", nil
		},
	})
}

// reviewField parses the time of the next review of a goal.
func reviewField(s string, now time.Time) (time.Time, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		return at, nil
	}
	m, err := dateparse.Parse(s, now)
	if err != nil {
		return time.Time{}, tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))
	}
	return m.Time, nil
}

// formatInterval formats an interval in seconds: "hour", "2 days", "90 minutes".
func formatInterval(seconds int64) string {
	for _, u := range []struct {
		name string
		n    int64
	}{{"week", 7 * 86400}, {"day", 86400}, {"hour", 3600}, {"minute", 60}, {"second", 1}} {
		switch {
		case seconds == u.n:
			return u.name
		case seconds%u.n == 0:
			return fmt.Sprintf("%d %ss", seconds/u.n, u.name)
		}
	}
	return fmt.Sprintf("%d seconds", seconds)
}

type listGoalsIn struct {
	All bool `json:"all,omitempty" jsonschema:"include goals that are done or abandoned"`
}

func (d Deps) listGoals() tools.Tool {
	return tools.New(tools.Def[listGoalsIn]{
		Spec: tools.Spec{
			Name: "list_goals", Category: "watch", Effects: tools.Read,
			Description: "List the goals that you work on by yourself.",
			Keywords:    "objectives aims what are you working towards progress",
		},
		Summary: func(listGoalsIn) string { return "List the goals" },
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in listGoalsIn) (tools.Result, error) {
			list, err := d.Goals.ListIn(tx, in.All)
			if err != nil {
				return tools.Result{}, err
			}
			if len(list) == 0 {
				return tools.Result{Source: provenance.Tool, Text: "There are no goals.", Data: map[string]any{"goals": []Goal{}}}, nil
			}
			var b strings.Builder
			fmt.Fprintf(&b, "%d goal(s):", len(list))
			for _, g := range list {
				b.WriteString("\n- " + goalLine(g, c.Now))
			}
			return tools.Result{Text: b.String(), Data: map[string]any{"goals": list}, Source: goalSource(list...)}, nil
		},
	})
}
