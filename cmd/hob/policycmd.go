package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/autonomy/guard/rules"
)

// policyCmd manages the user's own rules. It reads the rules folder directly instead of asking the
// daemon, so that it works even if the rules prevent Hob from starting.
func (a *cli) policyCmd() *cobra.Command {
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List your policy rules", Args: cobra.NoArgs,
		RunE: a.runCommand(func(*cobra.Command, []string) error { return a.policyList() }),
	})
	check := a.addJSONFlag(&cobra.Command{
		Use: "check", Short: "Check your policy rules for errors", Args: cobra.NoArgs,
		RunE: a.runCommand(func(*cobra.Command, []string) error { return a.policyCheck() }),
	})
	test := a.addJSONFlag(&cobra.Command{
		Use: "test FILE", Short: "Test your policy rules with the calls in a file", Args: cobra.ExactArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.policyTest(c.Context(), args[0]) }),
	})
	return a.commandGroup(&cobra.Command{Use: "policy", Short: "Manage your policy rules", SuggestFor: []string{"rules", "rule", "cedar"}}, list, check, test)
}

func (a *cli) policyRules() (*rules.Rules, error) {
	p, c, err := a.loadHome()
	if c == nil { // the rules can be checked without the roles in the configuration
		return rules.New(p.PolicyDir(), rules.Options{}), nil //nolint:nilerr // other commands report the configuration
	}
	return rules.New(p.PolicyDir(), rules.Options{Roles: c}), err
}

func (a *cli) policyList() error {
	r, err := a.policyRules()
	if err != nil {
		return err
	}
	list, err := r.List()
	if err != nil {
		return err
	}
	if a.asJSON {
		return a.printJSON(list)
	}
	if len(list) == 0 {
		a.printWrapped(fmt.Sprintf("You have no policy rules. Put them in %s, in files such as mine.cedar.", r.Dir()))
		return nil
	}
	for _, x := range list {
		fmt.Fprintf(a.out, "%-6s %s (%s:%d): %s\n", x.Kind, sanitizePrintable(x.Name), sanitizePrintable(filepath.Base(x.File)), x.Line, sanitizePrintable(x.Reason))
	}
	return nil
}

func (a *cli) policyCheck() error {
	r, err := a.policyRules()
	if err != nil {
		return err
	}
	list, err := r.List()
	if err != nil {
		return err
	}
	if a.asJSON {
		return a.printJSON(map[string]any{"ok": true, "rules": len(list), "folder": r.Dir()})
	}
	fmt.Fprintf(a.out, "%s: valid, %d rules\n", r.Dir(), len(list))
	for _, x := range list {
		if x.Kind == "permit" {
			fmt.Fprintf(a.err, "%s%s:%d is a permit rule, which has no effect: your rules can only add restrictions\n", a.colorize(a.err, amber, "warning: "), sanitizePrintable(x.File), x.Line)
		}
	}
	return nil
}

func (a *cli) policyTest(ctx context.Context, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the test cases: %w", err)
	}
	cases, err := rules.ParseCases(path, text)
	if err != nil {
		return err
	}
	r, err := a.policyRules()
	if err != nil {
		return err
	}
	if err := a.effectsOf(ctx, cases); err != nil {
		return err
	}
	out, err := r.Try(ctx, cases)
	if err != nil {
		return err
	}
	wrong := 0
	for _, o := range out {
		if !o.OK {
			wrong++
		}
	}
	if err := a.printOutcomes(out); err != nil {
		return err
	}
	if wrong > 0 {
		return &failure{code: exitFailed, cause: fmt.Sprintf("%d of %d cases had an unexpected result", wrong, len(out)), remedy: "fix the rules or the cases"}
	}
	return nil
}

func (a *cli) printOutcomes(out []rules.Outcome) error {
	if a.asJSON {
		return a.printJSON(out)
	}
	for _, o := range out {
		word, by := a.colorize(a.out, green, "ok   "), ""
		if !o.OK {
			word, by = a.colorize(a.out, red, "wrong"), fmt.Sprintf(", expected %s %s", o.Expect, o.Rule)
		}
		if o.By+o.Reason != "" {
			by += " (" + strings.TrimPrefix(strings.Join([]string{o.By, o.Reason}, ": "), ": ") + ")"
		}
		fmt.Fprintf(a.out, "%s %s: %s%s\n", word, sanitizePrintable(o.Name), o.Got, sanitizePrintable(by))
	}
	return nil
}

// effectsOf sets the effects in the cases that do not specify effects.
func (a *cli) effectsOf(ctx context.Context, cases []rules.Case) error {
	if !slices.ContainsFunc(cases, func(c rules.Case) bool { return len(c.Effects) == 0 }) {
		return nil
	}
	var list []api.Tool
	err := a.withClient(ctx, func(c *client) (err error) {
		list, err = c.Tools(ctx, api.Query{})
		return err
	})
	if err != nil {
		return fmt.Errorf("list the tools: %w; add effects = [...] to the cases", err)
	}
	for i := range cases {
		c := &cases[i]
		if len(c.Effects) > 0 {
			continue
		}
		for _, t := range list {
			if t.Name == c.Tool {
				c.Effects = t.Effects
				if c.Category == "" {
					c.Category = t.Category
				}
			}
		}
		if len(c.Effects) == 0 {
			return fmt.Errorf("case %q: unknown tool %q; correct its name, or add effects = [...] to the case", c.Name, c.Tool)
		}
	}
	return nil
}

func (a *cli) fileCmd() *cobra.Command {
	trust := a.addJSONFlag(&cobra.Command{
		Use: "trust PATH", Short: "Trust a file in a trusted folder", Args: cobra.ExactArgs(1), SuggestFor: []string{"vouch", "allow"},
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			path := args[0]
			if !filepath.IsAbs(path) && !strings.HasPrefix(path, "~") {
				abs, err := filepath.Abs(path)
				if err != nil {
					return err
				}
				path = abs
			}
			return a.withClient(c.Context(), func(cl *client) error {
				out, err := cl.TrustFile(c.Context(), path)
				if err != nil {
					return err
				}
				if a.asJSON {
					return a.printJSON(out)
				}
				fmt.Fprintf(a.out, "Trusted files: %d.\n", out.Files)
				if out.Left {
					fmt.Fprintln(a.out, "Some files were not read because they are too large or too many; they stay untrusted. Choose smaller folders.")
				}
				return nil
			})
		}),
	})
	return a.commandGroup(&cobra.Command{Use: "file", Short: "Manage trusted files"}, trust)
}
