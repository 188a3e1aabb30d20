package app

import (
	"context"

	"hob/platform/provenance"
	"hob/tools"
)

// webTools returns replacements for the tools that open pages and search. They have the same
// assessment but contact nothing.
func webTools() []tools.Tool {
	type page struct {
		URL string `json:"url"`
	}
	type query struct {
		Query string `json:"query"`
	}
	spec := func(name, what string) tools.Spec {
		return tools.Spec{Name: name, Category: "web", Description: what, Effects: tools.Read | tools.Egress, Core: true}
	}
	return []tools.Tool{
		tools.New(tools.Def[page]{
			Spec:    spec("open_page", "Open a page."),
			Summary: func(in page) string { return "Open " + in.URL },
			Judge: func(_ context.Context, in page) tools.CallAssessment {
				return tools.CallAssessment{URLs: []string{in.URL}, Get: true}
			},
			Run: func(_ context.Context, _ tools.Call, in page) (tools.Result, error) {
				return tools.Result{Text: "page of " + in.URL, Source: provenance.Outside, Links: []string{in.URL + "next"}}, nil
			},
		}),
		tools.New(tools.Def[query]{
			Spec:    spec("look_up", "Search the web."),
			Summary: func(in query) string { return "Search for " + in.Query },
			Judge: func(_ context.Context, in query) tools.CallAssessment {
				return tools.CallAssessment{Query: in.Query, Get: true}
			},
			Run: func(_ context.Context, _ tools.Call, in query) (tools.Result, error) {
				return tools.Result{Text: "found", Source: provenance.Outside, Links: []string{"https://found.example/1", "https://found.example/2"}}, nil
			},
		}),
	}
}
