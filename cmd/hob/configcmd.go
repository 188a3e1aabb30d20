package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/autonomy/config"
	"hob/cmd/hob/internal/doctor"
	"hob/platform/host/system"
	"hob/platform/retry"
)

func (a *cli) configCmd() *cobra.Command {
	get := a.addJSONFlag(&cobra.Command{
		Use: "get KEY", Short: "Print the value of a key or a section", Args: cobra.ExactArgs(1), ValidArgsFunction: completeKeys,
		RunE: a.runCommand(func(_ *cobra.Command, args []string) error {
			_, cfg, err := a.loadHome()
			if err != nil {
				return err
			}
			v, err := cfg.Get(args[0])
			if err != nil {
				return err
			}
			return a.printValue(v)
		}),
	})
	set := &cobra.Command{
		Use: "set KEY VALUE [KEY VALUE]...", Short: "Change keys; keep comments and order", Args: pairedArgs, ValidArgsFunction: completeKeys,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.configSet(c.Context(), args) }),
	}
	path := &cobra.Command{
		Use: "path", Short: "Print the path of the configuration file", Args: cobra.NoArgs,
		RunE: a.runCommand(func(*cobra.Command, []string) error {
			p, err := system.DefaultPaths()
			if err != nil {
				return err
			}
			fmt.Fprintln(a.out, p.ConfigFile())
			return nil
		}),
	}
	check := &cobra.Command{
		Use: "check", Short: "Check the configuration file", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			p, cfg, err := a.loadHome()
			if err != nil {
				return err
			}
			if err := checkDrivers(c.Context(), cfg); err != nil {
				return err
			}
			for _, w := range cfg.Warnings {
				fmt.Fprintln(a.err, a.colorize(a.err, amber, "warning: ")+w)
			}
			fmt.Fprintln(a.out, p.ConfigFile()+": good")
			return nil
		}),
	}
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List every key with its value and meaning", Args: cobra.NoArgs,
		RunE: a.runCommand(func(*cobra.Command, []string) error { return a.configList() }),
	})
	secret := &cobra.Command{
		Use: "secret NAME", Short: "Store a secret; same as hob secret set", Args: cobra.ExactArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.keepSecret(c.Context(), args[0], false) }),
	}
	return a.commandGroup(&cobra.Command{Use: "config", Short: "Read and change the configuration"}, get, set, list, check, path, secret)
}

// pairedArgs requires one or more pairs of arguments.
func pairedArgs(_ *cobra.Command, args []string) error {
	if len(args) == 0 || len(args)%2 != 0 {
		return errors.New("keys and values are not in pairs")
	}
	return nil
}

func completeKeys(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 && c.Name() != "set" || len(args)%2 != 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, k := range config.Keys() {
		if !k.Many {
			out = append(out, k.Name+"\t"+k.Doc)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// printValue prints a scalar or a list as plain text, and a section as JSON.
func (a *cli) printValue(v any) error {
	if a.asJSON {
		return a.printJSON(v)
	}
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			fmt.Fprintln(a.out, x)
		}
		return nil
	case map[string]any:
		return a.printJSON(v)
	}
	fmt.Fprintln(a.out, v)
	return nil
}

// configSet changes all keys together or none, because some are valid only together, such as the
// start and the end of the quiet hours.
func (a *cli) configSet(ctx context.Context, args []string) error {
	p, err := system.DefaultPaths()
	if err != nil {
		return err
	}
	var keys []string
	var values []config.Value
	for pair := range slices.Chunk(args, 2) {
		keys, values = append(keys, pair[0]), append(values, config.Value{Key: pair[0], Value: pair[1]})
	}
	before, _ := config.Load(p.ConfigFile()) // nil if the file is not valid
	var changes []config.Change
	err = a.editConfig(ctx, p, strings.Join(keys, ", "), func() (err error) {
		changes, err = config.SetAll(p.ConfigFile(), values, doctor.SettingChecks()...)
		return err
	})
	if err != nil && !strings.Contains(err.Error(), "; ") {
		return &failure{code: exitFailed, err: err, cause: err.Error(), remedy: "nothing was changed; give another value"}
	}
	if err != nil {
		return err
	}
	for _, ch := range changes {
		fmt.Fprintf(a.out, "%s = %s\n", ch.Key, ch.New)
		if ch.Warning != "" {
			fmt.Fprintln(a.err, a.colorize(a.err, amber, "warning: ")+ch.Warning)
		}
	}
	if after, err := config.Load(p.ConfigFile()); err == nil && before != nil && !before.NeedsRestart(after) {
		a.edited = false // Hob reads these keys again by itself
	}
	return a.restartToApply(ctx, p)
}

func (a *cli) configList() error {
	_, cfg, err := a.loadHome()
	if err != nil {
		return err
	}
	type setting struct {
		About   string `json:"about"`
		Accepts string `json:"accepts"`
		Default string `json:"default"`
		Key     string `json:"key"`
		Value   any    `json:"value,omitempty"` // nil for keys in sections of which there may be several
	}
	var list []setting
	for _, k := range config.Keys() {
		x := setting{Key: k.Name, Default: k.Default, Accepts: k.Accepts, About: k.Doc}
		if !k.Many {
			if x.Value, err = cfg.Get(k.Name); err != nil {
				return err
			}
		}
		list = append(list, x)
	}
	return printList(a, list, "", "KEY|VALUE|ABOUT", func(x setting) []any { return []any{x.Key, x.Value, x.About} })
}

// editConfig changes config.toml with an undo entry. what describes the change to the user. It
// never contains a value.
func (a *cli) editConfig(ctx context.Context, p system.Paths, what string, edit func() error) error {
	c := revisionsOf(p)
	before, err := c.Keep()
	if err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	if err := edit(); err != nil {
		return err
	}
	after, err := c.Keep()
	if err == nil && after == before {
		return nil
	}
	a.edited = true
	if err == nil {
		err = a.withClient(ctx, func(cl *client) error {
			return cl.ConfigChanged(ctx, api.ConfigChange{What: what, Before: before, After: after})
		})
	}
	if err != nil { // the change itself succeeded
		fmt.Fprintf(a.err, "%s`hob undo` cannot revert this change: %v\n", a.colorize(a.err, amber, "warning: "), err)
	}
	return nil
}

// applyWait is how long a command waits for the daemon to restart with a change. The daemon first
// finishes its running turns.
const applyWait = 20 * time.Second

// restartToApply makes the running Hob restart with the changes of this command, and waits until it runs
// with them. It does nothing if Hob does not run or nothing changed.
func (a *cli) restartToApply(ctx context.Context, p system.Paths) error {
	if !a.edited || !a.isRunning(p) {
		return nil
	}
	now, err := revisionsOf(p).Keep()
	if err != nil {
		return err
	}
	fmt.Fprintln(a.err, "Hob restarts to apply it ...")
	asked := time.Now()
	err = a.withClient(ctx, func(cl *client) error {
		return cl.ConfigChanged(ctx, api.ConfigChange{What: "apply", Before: now, After: now, Apply: true})
	})
	for err == nil && time.Since(asked) < applyWait {
		if err := retry.Sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
		h, held, perr := system.Probe(p.LockFile())
		if perr == nil && held && !h.Restarting && h.Since.After(asked) && a.isReady(ctx, p, h.PID) {
			a.edited = false
			fmt.Fprintln(a.err, "Hob runs with it now.")
			return nil
		}
	}
	if err == nil {
		fmt.Fprintln(a.err, "Hob still works on something, and restarts when that is done.")
		return nil
	}
	a.printRestartHint(p)
	return nil //nolint:nilerr // the change is made, and the hint says how to apply it
}
