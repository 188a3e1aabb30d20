package goals

import (
	"context"
	"encoding/json"
	"fmt"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// QuestionTool is the name of the tool that requests approval for a decision below the threshold.
// The call runs after approval. The tool is not offered to models.
const QuestionTool = "go_on_with_goal"

type questionIn struct {
	Goal       string  `json:"goal"`
	Decision   string  `json:"decision"`
	Action     string  `json:"action,omitempty"`
	Reason     string  `json:"reason,omitempty"`
	Confidence float64 `json:"confidence"`
}

// Agreed is the result of the call after the user approved it.
const Agreed = "Continuing with it."

// Question returns the tool.
func Question() tools.Tool {
	return tools.New(tools.Def[questionIn]{
		Spec: tools.Spec{Name: QuestionTool, Category: "watch", Effects: tools.Write, Description: "Continue with a goal as its review decided."},
		Summary: func(in questionIn) string {
			what := ""
			switch Verdict(in.Decision) {
			case Complete:
				what = "mark it as reached"
			case Abandon:
				what = "abandon it"
			case Investigate:
				what = "look into it: " + shownAction(in.Action)
			default:
				what = shownAction(in.Action)
			}
			s := fmt.Sprintf("For the goal %q: %s", textnorm.Ellipsize(in.Goal, 80), what)
			if in.Reason != "" {
				s += " (because " + textnorm.Ellipsize(in.Reason, 200) + ")"
			}
			return s
		},
		RunTx: func(context.Context, *store.Tx, tools.Call, questionIn) (tools.Result, error) {
			return tools.Result{Source: provenance.Tool, Text: Agreed}, nil
		},
	})
}

// shownAction returns the text of an action, shortened for the approval request.
func shownAction(action string) string { return textnorm.Ellipsize(action, 300) }

// QuestionArgs returns the arguments of the call for a decision.
func QuestionArgs(goal Goal, d Decision) (json.RawMessage, error) {
	b, err := json.Marshal(questionIn{Goal: goal.Name(), Decision: string(d.Verdict), Action: d.Action, Reason: d.Reason, Confidence: d.Confidence})
	if err != nil {
		return nil, fmt.Errorf("goals: store question: %w", err)
	}
	return b, nil
}
