package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

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
			return a.showProviders(all,
				textColumn("NAME", "name"), textColumn("KIND", "kind"), textColumn("FROM", "from"), textColumn("KEY", "key"), textColumn("MODEL", "model"), textColumn("USED AS", "used"), textColumn("ADDRESS", "address"))
		}),
	})
	test := a.addJSONFlag(&cobra.Command{
		Use: "test [NAME]", Short: "Test the providers; free of charge", Args: cobra.MaximumNArgs(1),
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
	if err := a.showProviders(all,
		textColumn("NAME", "name"), column{"STATE", providerState}, column{"LATENCY", latencyText}, column{"MODELS", modelsText}, column{"", errorCause}); err != nil {
		return err
	}
	if i := slices.IndexFunc(all, func(p doctor.Provider) bool { return p.Cause != "" }); i >= 0 {
		return &failure{code: exitFailed, cause: all[i].Cause, remedy: all[i].Remedy}
	}
	return nil
}

func (a *cli) showProviders(all []doctor.Provider, columns ...column) error {
	raw, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return a.printList(raw, "", columns...)
}

func providerState(r row) string {
	switch {
	case r["reachable"] == true:
		return "answers"
	case r["key"] == "missing":
		return "no key"
	}
	return "fails"
}

func latencyText(r row) string {
	if ms, ok := r["latency_ms"].(float64); ok && ms > 0 {
		return fmt.Sprintf("%.0f ms", ms)
	}
	return ""
}

// modelsText returns the number of models and the names of the first two, or the name of the only
// one.
func modelsText(r row) string {
	list, _ := r["models"].([]any)
	switch len(list) {
	case 0:
		return ""
	case 1:
		return fmt.Sprint(list[0])
	}
	return fmt.Sprintf("%d: %v, %v ...", len(list), list[0], list[1])
}

func errorCause(r row) string { return r.textField("cause") }
