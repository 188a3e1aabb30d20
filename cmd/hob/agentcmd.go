package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/autonomy/agents"
	"hob/autonomy/api"
	"hob/autonomy/config"
	"hob/platform/host/system"
	"hob/tools/files/containertool"
)

func (a *cli) agentCmd() *cobra.Command {
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List the agents", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return printFetched(c.Context(), a, func(cl *client) ([]api.Agent, error) { return cl.Agents(c.Context(), api.Query{}) }, "No agents.",
				"NAME|ABOUT|ERROR|MODEL|LEVEL|TOOLS|NAMESPACE|ISOLATION|ROUTES", func(x api.Agent) []any {
					return []any{x.Name, x.About, x.Trouble, x.Model, x.Level, x.Tools, x.Realm, x.Isolation, x.Routes}
				})
		}),
	})
	show := a.addJSONFlag(&cobra.Command{
		Use: "show NAME", Short: "Show one agent in full", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeAgents,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.showAgent(c.Context(), args[0]) }),
	})
	add := &cobra.Command{
		Use: "new NAME", Short: "Create an agent: its configuration section and folder", Args: cobra.ExactArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.newAgent(c, args[0]) }),
	}
	add.Flags().String("about", "", "the agent's purpose, in one sentence")
	add.Flags().String("model", "", "the agent's model (default: Hob's model)")
	add.Flags().String("tools", "", `tools it may use: "category:web, read_*" (default: all)`)
	add.Flags().String("deny", "", "tools it may not use")
	add.Flags().String("level", "", "lower autonomy level: watch, supervised")
	remove := &cobra.Command{
		Use: "remove NAME", Short: "Remove an agent from the configuration; keep its folder", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeAgents,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.removeAgent(c.Context(), args[0]) }),
	}
	var edit bool
	soul := &cobra.Command{
		Use: "soul NAME", Short: "Print or edit an agent's persona", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeAgents,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.showSoul(c.Context(), args[0], edit) }),
	}
	soul.Flags().BoolVar(&edit, "edit", false, "open the persona in $VISUAL or $EDITOR")
	return a.commandGroup(&cobra.Command{Use: "agent", Short: "Manage agents and their delegated tasks", SuggestFor: []string{"agents", "crew", "subagent"}},
		list, show, add, remove, soul, a.tasksCmd(), a.cancelCmd())
}

func (a *cli) tasksCmd() *cobra.Command {
	var all bool
	tasks := a.addJSONFlag(&cobra.Command{
		Use: "tasks [ID]", Short: "List running delegated tasks, or show one", Args: cobra.MaximumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				return printFetched(c.Context(), a, func(cl *client) ([]api.Delegation, error) { return cl.Delegations(c.Context(), api.Query{Of: args[0]}) }, "",
					"TASK|STATE|RESULT", func(x api.Delegation) []any {
						return []any{x.Task, x.State, x.Result}
					})
			}
			return printFetched(c.Context(), a, func(cl *client) ([]api.Delegation, error) { return cl.Delegations(c.Context(), api.Query{All: all}) }, "No tasks are running.",
				"TASK|STATE|AGENT|SINCE|ID|SESSION", func(x api.Delegation) []any {
					return []any{x.Task, x.State, x.Agent, x.CreatedAt, x.ID, x.Session}
				})
		}),
	})
	tasks.Flags().BoolVarP(&all, "all", "a", false, "include finished tasks")
	return tasks
}

func (a *cli) cancelCmd() *cobra.Command {
	return &cobra.Command{
		Use: "cancel ID", Short: "Cancel a delegated task", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeTasks,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.withClient(c.Context(), func(cl *client) error {
				if _, err := cl.CancelDelegation(c.Context(), args[0]); err != nil {
					return err
				}
				fmt.Fprintf(a.out, "Canceled the task %s.\n", args[0])
				return nil
			})
		}),
	}
}

func (a *cli) showAgent(ctx context.Context, name string) error {
	return a.withClient(ctx, func(c *client) error {
		list, err := c.Agents(ctx, api.Query{Of: name})
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return noAgent(name)
		}
		x := list[0]
		if a.asJSON {
			return a.printJSON(x)
		}
		for _, f := range []struct {
			title string
			value any
		}{
			{"name", x.Name},
			{"about", x.About},
			{"model", x.Model},
			{"tools", x.Tools},
			{"realm", x.Realm},
			{"level", x.Level},
			{"delegates", x.Delegates},
			{"isolation", x.Isolation},
			{"budget_share", x.Budget},
			{"default", x.Default},
			{"routes", x.Routes},
			{"folder", x.Folder},
			{"trouble", x.Trouble},
		} {
			if text := formatCell(time.Now().UTC(), f.value); text != "" {
				fmt.Fprintf(a.out, "%-12s %s\n", f.title, sanitizePrintable(text))
			}
		}
		return nil
	})
}

func noAgent(name string) error {
	return &failure{code: exitFailed, cause: fmt.Sprintf("agent %q not found", name), remedy: "see: hob agent list"}
}

// newAgent writes the configuration section and creates the folder. It does not change existing
// files.
func (a *cli) newAgent(c *cobra.Command, name string) error {
	p, cfg, err := a.loadHome()
	if err != nil {
		return err
	}
	if name == config.DefaultAgent {
		return usageErrorf("%q always exists; create its section with: hob config set agents.%s.about TEXT", name, name)
	}
	in := changedFlags(c, "about", "model", "tools", "deny", "level")
	_, there := cfg.Member(name)
	if there && len(in) > 0 {
		return &failure{code: exitFailed, cause: fmt.Sprintf("the agent %q already exists", name), remedy: "change it with: hob config set agents." + name + ".KEY VALUE"}
	}
	about, _ := in["about"].(string)
	values := []config.Value{{Key: "agents." + name + ".about", Value: quoteValue(about)}}
	for _, k := range []string{"model", "tools", "deny", "level"} {
		if v, ok := in[k].(string); ok {
			values = append(values, config.Value{Key: "agents." + name + "." + k, Value: v})
		}
	}
	if !there {
		err := a.editConfig(c.Context(), p, "a new agent "+name, func() error {
			_, err := config.SetAll(p.ConfigFile(), values)
			return err
		})
		if err != nil {
			return err
		}
	}
	made, err := agents.Scaffold(p.AgentDir(name), name, about)
	if err != nil {
		return err
	}
	for _, path := range made {
		fmt.Fprintln(a.out, "made "+path)
	}
	fmt.Fprintf(a.out, "Created the agent %s. To use it, send /agent %s in a chat or add a [[routes]] entry.\n", name, name)
	return a.restartToApply(c.Context(), p)
}

// quoteValue returns a quoted empty TOML string if s is empty, and otherwise s unchanged.
func quoteValue(s string) string {
	if s == "" {
		return `""`
	}
	return s
}

func (a *cli) removeAgent(ctx context.Context, name string) error {
	p, cfg, err := a.loadHome()
	if err != nil {
		return err
	}
	if _, ok := cfg.Member(name); !ok {
		return noAgent(name)
	}
	err = a.editConfig(ctx, p, "no agent "+name, func() error { return config.Remove(p.ConfigFile(), "agents."+name) })
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "Removed the agent %s. Its folder was kept: %s\n", name, p.AgentDir(name))
	return a.restartToApply(ctx, p)
}

// showSoul prints an agent's SOUL.md or opens it in an editor.
func (a *cli) showSoul(ctx context.Context, name string, edit bool) error {
	p, cfg, err := a.loadHome()
	if err != nil {
		return err
	}
	if !slices.Contains(cfg.AgentNames(), name) {
		return noAgent(name)
	}
	path := filepath.Join(p.AgentDir(name), "SOUL.md")
	if name == config.DefaultAgent {
		path = p.SoulFile()
	}
	if m, ok := cfg.Member(name); ok && m.Soul != "" {
		path = m.Soul
	}
	if edit {
		return a.openEditor(ctx, path)
	}
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		fmt.Fprintf(a.out, "%s has no persona yet. Write one with: hob agent soul %s --edit\n", name, name)
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(a.out, strings.TrimSpace(sanitizePrintable(string(b))))
	return nil
}

func (a *cli) openEditor(ctx context.Context, path string) error {
	words := strings.Fields(os.Getenv("VISUAL"))
	if len(words) == 0 {
		words = strings.Fields(os.Getenv("EDITOR"))
	}
	if len(words) == 0 {
		return &failure{code: exitFailed, cause: "no editor is set", remedy: "set EDITOR, or edit " + path}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], path)...) //nolint:gosec // the owner's own editor
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.in, a.out, io.Writer(a.err)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the editor %s: %w", words[0], err)
	}
	fmt.Fprintln(a.out, "Your changes apply from the next conversation.")
	return os.Chmod(path, 0o600)
}

func (a *cli) completeAgents(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	p, err := system.DefaultPaths()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	cfg, err := config.Load(p.ConfigFile())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return cfg.AgentNames(), cobra.ShellCompDirectiveNoFileComp
}

// completeTasks completes the ids of the daemon's running tasks.
func (a *cli) completeTasks(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var out []string
	if len(args) == 0 {
		_ = a.withClient(c.Context(), func(cl *client) error { // without a daemon there are no tasks to complete
			list, err := cl.Delegations(c.Context(), api.Query{})
			for _, d := range list {
				out = append(out, d.ID+"\t"+d.Task)
			}
			return err
		})
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// agentRunCmd serves one tool call inside a container. It is not intended for users.
func (a *cli) agentRunCmd() *cobra.Command {
	return &cobra.Command{
		Use: containertool.Command, Short: "Run one tool call in a container", Args: cobra.NoArgs, Hidden: true,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error { return containertool.Serve(c.Context(), a.in, a.out) }),
	}
}
