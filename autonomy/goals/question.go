package goals

import (
	"context"
	"encoding/json"
	"fmt"

	"hob/knowledge/store"
	"hob/platform/phrase"
	"hob/platform/provenance"
	"hob/tools"
)

// QuestionTool is the tool with which a decision that is not sure enough is put
// before the owner: a call that runs once he said yes. No model has it.
const QuestionTool = "go_on_with_goal"

type questionIn struct {
	Goal       string  `json:"goal"`
	Decision   string  `json:"decision"`
	Action     string  `json:"action,omitempty"`
	Reason     string  `json:"reason,omitempty"`
	Confidence float64 `json:"confidence"`
}

// Agreed is what the call returns once the owner has said yes.
const Agreed = "Going on with it."

// Question makes the tool.
func Question() tools.Tool {
	return tools.New(tools.Def[questionIn]{
		Spec: tools.Spec{Name: QuestionTool, Category: "watch", Effects: tools.Write, Description: "Go on with a goal as its review says."},
		Summary: func(in questionIn) string {
			what := ""
			switch Verdict(in.Decision) {
			case Complete:
				what = "mark it as reached"
			case Abandon:
				what = "give it up"
			case Investigate:
				what = "look into it: " + shown(in.Action)
			default:
				what = shown(in.Action)
			}
			s := fmt.Sprintf("For the goal %q: %s", phrase.Cut(in.Goal, 80), what)
			if in.Reason != "" {
				s += " (because " + phrase.Cut(in.Reason, 200) + ")"
			}
			return s
		},
		RunTx: func(context.Context, *store.Tx, tools.Call, questionIn) (tools.Result, error) {
			return tools.Result{Source: provenance.Tool, Text: Agreed}, nil
		},
	})
}

// shown is as much of an action as the owner is asked about.
func shown(action string) string { return phrase.Cut(action, 300) }

// QuestionArgs are the arguments of the call for a decision.
func QuestionArgs(goal Goal, d Decision) (json.RawMessage, error) {
	b, err := json.Marshal(questionIn{Goal: goal.Name(), Decision: string(d.Verdict), Action: d.Action, Reason: d.Reason, Confidence: d.Confidence})
	if err != nil {
		return nil, fmt.Errorf("goals: question: %w", err)
	}
	return b, nil
}
