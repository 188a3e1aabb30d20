package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/internal/doctor"
)

func (a *cli) providerCmd() *cobra.Command {
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List the model providers", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			all, err := a.loadProviders(c.Context(), false)
			if err != nil {
				return err
			}
			return printList(a, all, "", "NAME|KIND|FROM|KEY|MODEL|USED AS|ADDRESS", func(p doctor.Provider) []any {
				return []any{p.Name, p.Kind, p.From, p.Key, p.Model, p.Used, p.Address}
			})
		}),
	})
	test := a.addJSONFlag(&cobra.Command{
		Use: "test [NAME]", Short: "Test the providers, free of charge", Args: cobra.MaximumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.testProviders(c.Context(), args) }),
	})
	return a.commandGroup(&cobra.Command{Use: "provider", Short: "List and test model providers", SuggestFor: []string{"providers", "model", "models"}}, list, test)
}

func (a *cli) loadProviders(ctx context.Context, test bool) ([]doctor.Provider, error) {
	p, cfg, err := a.loadHome()
	if err != nil {
		return nil, err
	}
	return doctor.Providers(ctx, doctor.Env{Paths: p, Config: cfg}, test), nil
}

func (a *cli) testProviders(ctx context.Context, names []string) error {
	all, err := a.loadProviders(ctx, true)
	if err != nil {
		return err
	}
	if len(names) > 0 {
		all = slices.DeleteFunc(all, func(p doctor.Provider) bool { return p.Name != names[0] })
		if len(all) == 0 {
			return &failure{code: exitFailed, cause: fmt.Sprintf("provider %q not found", names[0]), remedy: "see: hob provider list"}
		}
	}
	err = printList(a, all, "", "NAME|STATE|LATENCY|MODELS|", func(p doctor.Provider) []any {
		return []any{p.Name, providerState(p), latencyText(p), modelsText(p.Models), p.Cause}
	})
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(all, func(p doctor.Provider) bool { return p.Cause != "" }); i >= 0 {
		return &failure{code: exitFailed, cause: all[i].Cause, remedy: all[i].Remedy}
	}
	return nil
}

func providerState(p doctor.Provider) string {
	switch {
	case p.Reachable:
		return "answers"
	case p.Key == "missing":
		return "no key"
	}
	return "fails"
}

func latencyText(p doctor.Provider) string {
	if p.LatencyMS <= 0 {
		return ""
	}
	return fmt.Sprintf("%d ms", p.LatencyMS)
}

// modelsText returns the number of models and the names of the first two. For a single model it
// returns only the name.
func modelsText(list []string) string {
	if len(list) > 1 {
		return fmt.Sprintf("%d: %s, %s ...", len(list), list[0], list[1])
	}
	return strings.Join(list, "")
}
