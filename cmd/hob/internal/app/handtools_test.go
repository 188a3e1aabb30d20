package app

import (
	"context"

	"hob/platform/provenance"
	"hob/tools"
)

// handTools returns replacements for the tools that click and type. They have the same assessment
// and are refused while an approval request is open, but do nothing.
func handTools(asking func(context.Context) (bool, error)) []tools.Tool {
	type in struct {
		Window string `json:"window"`
	}
	acting := tools.Exec | tools.Send | tools.Destroy
	hand := func(name, what string) tools.Tool {
		return tools.New(tools.Def[in]{
			Spec:    tools.Spec{Name: name, Category: "desktop", Description: what, Effects: acting, Core: true},
			Summary: func(i in) string { return name + " in " + i.Window },
			Judge: func(ctx context.Context, _ in) tools.CallAssessment {
				if open, err := asking(ctx); err != nil || open {
					return tools.CallAssessment{Refused: tools.Errorf(tools.PolicyDenied, "a question is open"), Private: true}
				}
				return tools.CallAssessment{Effects: acting, Private: true}
			},
			Run: func(context.Context, tools.Call, in) (tools.Result, error) {
				return tools.Result{Source: provenance.Tool, Text: name + " is done."}, nil
			},
		})
	}
	return []tools.Tool{hand("tap", "Click."), hand("fill_in", "Type.")}
}
