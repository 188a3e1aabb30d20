package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type updateGoalIn struct {
	Goal        string `json:"goal" jsonschema:"id or words"`
	Description string `json:"description,omitempty"`
	Success     string `json:"success,omitempty" jsonschema:"none clears it"`
	Priority    int    `json:"priority,omitempty" jsonschema:"1 to 5"`
	CheckEvery  string `json:"check_every,omitempty" jsonschema:"such as 6h or 2 days"`
	NextReview  string `json:"next_review,omitempty" jsonschema:"in words or RFC 3339"`
}

func (d Deps) updateGoal() tools.Tool {
	return tools.New(tools.Def[updateGoalIn]{
		Spec: tools.Spec{
			Name: "update_goal", Category: "watch", Effects: tools.Write, Starts: tools.AnyEffect,
			Description: "Change a goal: its description, its success condition, its priority, the review interval or the next review.",
			Keywords:    "edit objective aim reword postpone review prioritise",
		},
		Summary: func(in updateGoalIn) string {
			return fmt.Sprintf("Change the goal %q", textnorm.Ellipsize(in.Goal, 100))
		},
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in updateGoalIn) (tools.Result, error) {
			before, err := d.pickGoal(tx, in.Goal)
			if err != nil {
				return tools.Result{}, err
			}
			g := before
			if strings.TrimSpace(in.Description) != "" {
				g.Description = in.Description
			}
			if s := strings.TrimSpace(in.Success); strings.EqualFold(s, none) {
				g.Success = ""
			} else if s != "" {
				g.Success = s
			}
			if in.Priority != 0 {
				g.Priority = in.Priority
			}
			if every, err := everyField(in.CheckEvery, c.Now); err != nil {
				return tools.Result{}, err
			} else if every != 0 {
				g.Every = every
			}
			if at, err := reviewField(in.NextReview, c.Now); err != nil {
				return tools.Result{}, err
			} else if !at.IsZero() {
				g.NextAt = at
			}
			if g == before {
				return tools.Result{Text: fmt.Sprintf("The goal %q already has these values.", goalName(g)), Data: g, Source: goalSource(g)}, nil
			}
			return d.changeGoal(tx, c, before, g, "Changed the goal: ")
		},
		UndoTx: d.undoGoal,
	})
}

// changeGoal stores a changed goal. The text of the result consists of verb and the goal.
func (d Deps) changeGoal(tx *store.Tx, c tools.Call, before, g Goal, verb string) (tools.Result, error) {
	if callProvenance(c).Tainted() {
		g.Provenance = provenance.Outside
	}
	g, err := d.Goals.ChangeTx(tx, g, c.Now)
	if err != nil {
		return tools.Result{}, classifyGoal(err)
	}
	return tools.Result{
		Text: verb + goalLine(g, c.Now) + ".", Data: g, Source: goalSource(before, g),
		Undo: tools.NewUndo(fmt.Sprintf("revert the change to the goal %q", goalName(before)), goalUndo{Before: before, After: g}),
	}, nil
}

type pauseGoalIn struct {
	Goal   string `json:"goal" jsonschema:"id or words"`
	Resume bool   `json:"resume,omitempty" jsonschema:"resume instead"`
}

func (d Deps) pauseGoal() tools.Tool {
	return tools.New(tools.Def[pauseGoalIn]{
		Spec: tools.Spec{
			Name: "pause_goal", Category: "watch", Effects: tools.Write,
			Description: "Pause or resume a goal; resuming also reopens a goal that is done or abandoned.",
			Keywords:    "resume suspend hold continue objective aim reopen",
		},
		Summary: func(in pauseGoalIn) string {
			return chooseVerb(in.Resume, "Resume", "Pause") + fmt.Sprintf(" the goal %q", textnorm.Ellipsize(in.Goal, 100))
		},
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in pauseGoalIn) (tools.Result, error) {
			before, err := d.pickGoal(tx, in.Goal)
			if err != nil {
				return tools.Result{}, err
			}
			g := before
			g.Status = chooseVerb(in.Resume, goalActive, goalPaused)
			switch {
			case g.Status == before.Status:
				return tools.Result{Text: fmt.Sprintf("The goal %q is already %s.", goalName(g), g.Status), Data: g, Source: goalSource(g)}, nil
			case !in.Resume && before.Status != goalActive && before.Status != "waiting":
				return tools.Result{}, tools.Quoting(tools.Errorf(tools.Conflict, "the goal %q is %s", tools.Clean(goalName(g)), tools.Clean(before.Status)), g.Provenance)
			}
			return d.changeGoal(tx, c, before, g, chooseVerb(in.Resume, "Resumed the goal: ", "Paused the goal: "))
		},
		UndoTx: d.undoGoal,
	})
}

type oneGoalIn struct {
	Goal string `json:"goal" jsonschema:"id or words"`
}

func (d Deps) completeGoal() tools.Tool {
	return tools.New(tools.Def[oneGoalIn]{
		Spec: tools.Spec{
			Name: "complete_goal", Category: "watch", Effects: tools.Write,
			Description: "Mark a goal as reached; it is no longer reviewed.",
			Keywords:    "done achieved finished objective aim",
		},
		Summary: func(in oneGoalIn) string {
			return fmt.Sprintf("Mark the goal %q as reached", textnorm.Ellipsize(in.Goal, 100))
		},
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in oneGoalIn) (tools.Result, error) {
			before, err := d.pickGoal(tx, in.Goal)
			if err != nil {
				return tools.Result{}, err
			}
			g := before
			if g.Status = goalDone; before.Status == goalDone {
				return tools.Result{Text: fmt.Sprintf("The goal %q is already done.", goalName(g)), Data: g, Source: goalSource(g)}, nil
			}
			return d.changeGoal(tx, c, before, g, "Reached the goal: ")
		},
		UndoTx: d.undoGoal,
	})
}

func (d Deps) deleteGoal() tools.Tool {
	return tools.New(tools.Def[oneGoalIn]{
		Spec: tools.Spec{
			Name: "delete_goal", Category: "watch", Effects: tools.Write,
			Description: "Remove a goal that is no longer wanted.",
			Keywords:    "drop cancel abandon objective aim",
		},
		Summary: func(in oneGoalIn) string { return fmt.Sprintf("Remove the goal %q", textnorm.Ellipsize(in.Goal, 100)) },
		RunTx: func(_ context.Context, tx *store.Tx, _ tools.Call, in oneGoalIn) (tools.Result, error) {
			g, err := d.pickGoal(tx, in.Goal)
			if err != nil {
				return tools.Result{}, err
			}
			if err := d.Goals.DropTx(tx, g.ID); err != nil {
				return tools.Result{}, err
			}
			return tools.Result{
				Text: fmt.Sprintf("Removed the goal %q.", goalName(g)), Data: g, Source: goalSource(g),
				Undo: tools.NewUndo(fmt.Sprintf("restore the goal %q", goalName(g)), g),
			}, nil
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			g, err := decodeUndo[Goal](data)
			if err != nil {
				return "", err
			}
			all, err := d.Goals.ListIn(tx, true)
			if err != nil {
				return "", err
			}
			if slices.ContainsFunc(all, func(o Goal) bool { return o.ID == g.ID }) {
				return "", tools.Quoting(tools.Errorf(tools.Conflict, "the goal %q already exists", tools.Clean(goalName(g))), g.Provenance)
			}
			return fmt.Sprintf("Restored the goal %q.", goalName(g)), classifyGoal(d.Goals.PutTx(tx, g))
		},
	})
}
