package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/autonomy/config"
	"hob/autonomy/hooks"
)

// hooksCmd manages the user's hooks. It reads the configuration and the pins directly instead of
// asking the daemon, so that it works even if a hook stops every turn.
func (a *cli) hooksCmd() *cobra.Command {
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List your hooks and check their programs", Args: cobra.NoArgs,
		RunE: a.runCommand(func(*cobra.Command, []string) error { return a.listHooks() }),
	})
	event := hooks.Event{}
	var arguments string
	test := a.addJSONFlag(&cobra.Command{
		Use: "test EVENT", Short: "Run the hooks of an event with sample input", Args: cobra.ExactArgs(1), ValidArgs: config.HookEvents(),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			event.On, event.Arguments = args[0], json.RawMessage(arguments)
			return a.testHooks(c, event)
		}),
	})
	test.Flags().StringVar(&event.Tool, "tool", "", "name of the tool")
	test.Flags().StringVar(&arguments, "arguments", "{}", "arguments of the call, as JSON")
	test.Flags().StringVar(&event.Text, "text", "", "message, answer, notification or result")
	test.Flags().StringVar(&event.Session, "session", "main", "conversation")
	trust := a.addJSONFlag(&cobra.Command{
		Use: "trust [PROGRAM]", Short: "Trust the current content of changed programs", Args: cobra.MaximumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.trustHooks(c.Context(), strings.Join(args, "")) }),
	})
	return a.commandGroup(&cobra.Command{Use: "hooks", Short: "Manage your hooks", SuggestFor: []string{"hook"}}, list, test, trust)
}

// openHooks returns the hooks in the configuration. They record nothing in the audit log.
func (a *cli) openHooks() (*hooks.Hooks, error) {
	p, c, err := a.loadHome()
	if err != nil {
		return nil, err
	}
	return hooks.Open(hooks.Options{Hooks: c.Hooks, Files: c.Files, Pins: p.HookPins()}), nil
}

// recordTrust writes what the user trusted into the audit log.
func (a *cli) recordTrust(ctx context.Context, t api.TrustRecord) error {
	if len(t.Items) == 0 {
		return nil
	}
	err := a.withClient(ctx, func(cl *client) error {
		_, err := cl.RecordTrust(ctx, t)
		return err
	})
	if err != nil {
		return fmt.Errorf("trusted, but not recorded in the audit log: %w", err)
	}
	return nil
}

func (a *cli) listHooks() error {
	h, err := a.openHooks()
	if err != nil {
		return err
	}
	list := h.List()
	if a.asJSON {
		return a.printJSON(list)
	}
	if len(list) == 0 {
		fmt.Fprintln(a.out, "You have no hooks. Add a [[hooks]] section to the configuration; see docs/hooks.md.")
		return nil
	}
	unusable := 0
	for _, s := range list {
		fmt.Fprintf(a.out, "%-8s %s %s\n", s.State, strings.TrimSpace(s.On+" "+s.Match), sanitizePrintable(strings.Join(s.Command, " ")))
		if s.State != hooks.Ready {
			unusable++
			fmt.Fprintf(a.out, "         %s\n", sanitizePrintable(s.Cause))
		}
	}
	if unusable > 0 {
		return &failure{code: exitFailed, cause: fmt.Sprintf("%d of %d hooks cannot run", unusable, len(list)), remedy: "fix the problems above; until then, Hob refuses the messages and actions that a hook with \"received\" or \"before\" in its event must check"}
	}
	return nil
}

func (a *cli) testHooks(c *cobra.Command, e hooks.Event) error {
	if !slices.Contains(config.HookEvents(), e.On) {
		return fmt.Errorf("unknown event %q; use one of %s", e.On, strings.Join(config.HookEvents(), ", "))
	}
	if !json.Valid(e.Arguments) {
		return errors.New("--arguments is not valid JSON; write for example --arguments '{\"path\":\"/tmp/a\"}'")
	}
	h, err := a.openHooks()
	if err != nil {
		return err
	}
	if !h.Has(e.On) {
		return fmt.Errorf("no hook runs at %s; list the hooks with: hob hooks list", e.On)
	}
	added, err := h.Run(c.Context(), e)
	if refused, ok := errors.AsType[*hooks.Refusal](err); ok {
		if a.asJSON {
			return a.printJSON(map[string]any{"refused": refused.Reason, "hook": refused.Hook})
		}
		fmt.Fprintf(a.out, "refused by %s: %s\n", sanitizePrintable(refused.Hook), sanitizePrintable(refused.Reason))
		return nil
	}
	if err != nil {
		return err
	}
	if a.asJSON {
		return a.printJSON(map[string]any{"refused": "", "added": strings.TrimSpace(hooks.Join("", added))})
	}
	fmt.Fprintln(a.out, "passed")
	for _, x := range added {
		fmt.Fprintf(a.out, "added by %s: %s\n", sanitizePrintable(x.Hook), sanitizePrintable(x.Text))
	}
	return nil
}

func (a *cli) trustHooks(ctx context.Context, program string) error {
	h, err := a.openHooks()
	if err != nil {
		return err
	}
	trusted, err := h.Trust(program)
	if err != nil {
		return err
	}
	files, items := []string{}, []api.TrustedItem{}
	for _, f := range trusted {
		files, items = append(files, f.Path), append(items, api.TrustedItem{Name: f.Path, Digest: f.SHA256})
	}
	if err := a.recordTrust(ctx, api.TrustRecord{Kind: "hook", Items: items}); err != nil {
		return err
	}
	if a.asJSON {
		return a.printJSON(map[string]any{"trusted": files})
	}
	if len(files) == 0 {
		fmt.Fprintln(a.out, "No program has changed.")
	}
	for _, f := range files {
		fmt.Fprintf(a.out, "Trusted the current content of %s.\n", sanitizePrintable(f))
	}
	return nil
}
