package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"hob/autonomy/service"
	"hob/platform/host/system"
	"hob/templates"
)

func (a *cli) templateCmd() *cobra.Command {
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List the templates", Args: cobra.NoArgs,
		RunE: a.runCommand(func(*cobra.Command, []string) error { return a.listTemplates() }),
	})
	info := a.addJSONFlag(&cobra.Command{
		Use: "info TEMPLATE", Short: "Show the contents and requirements of a template", Args: cobra.ExactArgs(1), ValidArgsFunction: completeTemplates,
		RunE: a.runCommand(func(_ *cobra.Command, args []string) error { return a.showTemplate(args[0]) }),
	})
	var yes, trust, diff bool
	use := a.addJSONFlag(&cobra.Command{
		Use: "use TEMPLATE", Short: "Preview and apply a template", Args: cobra.ExactArgs(1), ValidArgsFunction: completeTemplates,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.useTemplate(c.Context(), args[0], templateConsent{yes, trust, diff})
		}),
	})
	use.Flags().BoolVarP(&yes, "yes", "y", false, "skip the confirmation")
	use.Flags().BoolVar(&trust, "trust", false, "accept the template's SOUL.md even if it looks like an attack on the model")
	use.Flags().BoolVar(&diff, "diff", false, "show the changes of SOUL.md and config.toml line by line")
	reset := a.addJSONFlag(&cobra.Command{
		Use: "reset", Short: "Restore the state from before the template", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error { return a.resetTemplate(c.Context(), yes) }),
	})
	reset.Flags().BoolVarP(&yes, "yes", "y", false, "skip the confirmation")
	var about string
	create := &cobra.Command{
		Use: "create NAME", Short: "Create a template from the current setup", Args: cobra.ExactArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.createTemplate(c.Context(), args[0], about) }),
	}
	create.Flags().StringVar(&about, "about", "", "purpose of the template, in one sentence")
	remove := &cobra.Command{
		Use: "remove NAME", Short: "Delete one of your templates", Args: cobra.ExactArgs(1), ValidArgsFunction: completeTemplates,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.removeTemplate(c.Context(), args[0], yes) }),
	}
	remove.Flags().BoolVarP(&yes, "yes", "y", false, "skip the confirmation")
	return a.commandGroup(&cobra.Command{Use: "template", Short: "Manage templates", SuggestFor: []string{"templates", "persona"}},
		list, info, use, reset, create, remove)
}

func templateShelf(p system.Paths) templates.Registry {
	return templates.Registry{Dir: p.TemplatesDir()}
}

func completeTemplates(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	p, err := system.DefaultPaths()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	list, err := templateShelf(p).List()
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var out []string
	for _, t := range list {
		out = append(out, t.Name+"\t"+t.Description)
	}
	return out, cobra.ShellCompDirectiveDefault
}

// things implements templates.ResourceStore over the API, for template resources that are not
// files.
type things struct{ a *cli }

// Reconcile implements templates.ResourceStore.
func (t things) Reconcile(ctx context.Context, w templates.DesiredState) (done templates.ApplyResult, err error) {
	err = t.a.withClient(ctx, func(c *client) (err error) {
		done, err = c.Template(ctx, w)
		return err
	})
	return done, err
}

// withTemplateLock runs fn while no other command can change templates. It first completes changes
// that a crash interrupted.
func (a *cli) withTemplateLock(ctx context.Context, fn func(p system.Paths, h *templates.Installation) error) error {
	p, err := system.DefaultPaths()
	if err != nil {
		return err
	}
	lock, err := system.Acquire(ctx, filepath.Join(p.TemplateState(), "lock"), system.RoleCLI)
	if err != nil {
		return fmt.Errorf("another command is changing templates: %w", err)
	}
	defer func() { _ = lock.Release() }() // the end of the process also releases the lock
	h, err := service.OpenTemplates(p, things{a})
	if err != nil {
		return err
	}
	kept, there, err := h.Finish(ctx)
	if err != nil {
		return fmt.Errorf("an interrupted template change cannot be completed yet: %w", err)
	}
	if there {
		s, err := h.State()
		if err != nil {
			return err
		}
		fmt.Fprintf(a.err, "Completed an interrupted change: %s.\n", inUse(s))
		for _, path := range kept {
			fmt.Fprintln(a.err, "You edited a file in the meantime. Hob saved a copy of the replaced or missing text: "+path)
		}
	}
	return fn(p, h)
}

func inUse(s templates.State) string {
	if s.Name == "" {
		return "no template is active"
	}
	return "the active template is " + s.Name
}

func (a *cli) listTemplates() error {
	p, err := system.DefaultPaths()
	if err != nil {
		return err
	}
	list, err := templateShelf(p).List()
	if err != nil {
		return err
	}
	h, err := service.OpenTemplates(p, things{a})
	if err != nil {
		return err
	}
	s, err := h.State()
	if err != nil {
		return err
	}
	type listed struct {
		Description string `json:"description"`
		Error       string `json:"error,omitempty"`
		InUse       bool   `json:"in_use"`
		Name        string `json:"name"`
		Origin      string `json:"origin"`
		Path        string `json:"path"`
		Version     string `json:"version"`
	}
	rows := []listed{}
	for _, t := range list {
		r := listed{Name: t.Name, Description: t.Description, Version: t.Version, Origin: string(t.Origin), Path: t.Path, InUse: t.Name == s.Name}
		if t.Err != nil {
			r.Error = t.Err.Error()
		}
		rows = append(rows, r)
	}
	if pending, err := h.Pending(); err != nil || pending {
		fmt.Fprintln(a.err, a.colorize(a.err, amber, "warning: ")+"a template change was interrupted; run use, reset or remove to complete it")
	}
	if a.asJSON {
		return a.printJSON(rows)
	}
	printTable(a, rows, "NAME|ABOUT|FROM|VERSION", func(r listed) []any {
		return []any{activeMark(r.InUse) + r.Name, cmp.Or(r.Error, r.Description), r.Origin, r.Version}
	})
	if s.Name != "" {
		fmt.Fprintf(a.out, "* active; revert with: hob template reset\n")
	}
	return nil
}

func activeMark(on bool) string {
	if on {
		return "* "
	}
	return "  "
}

func (a *cli) removeTemplate(ctx context.Context, name string, yes bool) error {
	return a.withTemplateLock(ctx, func(p system.Paths, h *templates.Installation) error {
		s, err := h.State()
		if err != nil {
			return err
		}
		if s.Name == name {
			return &failure{code: exitFailed, cause: name + " is in use", remedy: "reset it first: hob template reset"}
		}
		if templates.IsBuiltin(name) {
			return &failure{code: exitFailed, cause: name + " is built in and cannot be removed"}
		}
		if !yes {
			ok, asked, err := a.yesOrNo(ctx, "Delete the template "+name+" permanently?")
			if err != nil {
				return err
			}
			if !asked {
				return &failure{code: exitDenied, cause: "nothing was deleted, because confirmation needs a terminal", remedy: "confirm with: --yes"}
			}
			if !ok {
				return nil
			}
		}
		if err := templateShelf(p).Remove(name); err != nil {
			return templateError(err)
		}
		fmt.Fprintf(a.out, "Deleted the template %s.\n", name)
		return nil
	})
}
