package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hob/platform/host/system"
	"hob/tools/files/containertool"
)

// Command groups in `hob help`.
const (
	groupTalk   = "talk"
	groupThings = "things"
	groupTrust  = "trust"
	groupRun    = "run"
)

func (a *cli) rootCommand() *cobra.Command {
	root := a.commandGroup(&cobra.Command{
		Use: "hob", Short: "An assistant that runs on your computer",
		SilenceUsage: true, SilenceErrors: true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
	})
	root.AddGroup(
		&cobra.Group{ID: groupTalk, Title: "Talk:"},
		&cobra.Group{ID: groupThings, Title: "Data and watchers:"},
		&cobra.Group{ID: groupTrust, Title: "Permissions and history:"},
		&cobra.Group{ID: groupRun, Title: "Run and configure:"},
	)
	add := func(group string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add(groupTalk, a.askCmd(), a.chatCmd(), a.briefCmd(), a.openCmd(), a.sessionCmd(), a.agentCmd(), a.a2aCmd(), a.channelCmd())
	add(groupThings, a.taskCmd(), a.watchCmd(), a.intentCmd(), a.reminderCmd(), a.noteCmd(), a.expenseCmd(), a.habitCmd(), a.scheduleCmd(), a.goalCmd(), a.triggerCmd(), a.notifyCmd(), a.accountCmd(), a.memoryCmd())
	add(groupTrust, a.approvalsCmd(), a.approveCmd(), a.denyCmd(), a.grantCmd(), a.tokenCmd(), a.policyCmd(), a.hooksCmd(), a.whyCmd(), a.auditCmd(), a.fileCmd(), a.undoCmd(), a.mcpCmd(), a.usageCmd(), a.toolCmd())
	add(groupRun, a.startCmd(), a.stopCmd(), a.statusCmd(), a.pauseCmd(), a.resumeCmd(), a.serviceCmd(), a.fleetCmd(), a.setupCmd(), a.initCmd(), a.configCmd(), a.templateCmd(), a.skillCmd(), a.secretCmd(), a.providerCmd(), a.doctorCmd(), a.selftestCmd(), a.updateCmd(), a.manCmd(), a.backupCmd(), a.restoreCmd(), a.storeCmd(), a.simulateCmd(), a.benchCmd(), a.evalCmd(), a.versionCmd(), a.agentRunCmd())
	root.SetHelpCommandGroupID(groupRun)
	root.SetCompletionCommandGroupID(groupRun)
	a.versionFlag(root)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if args := c.Flags().Args(); c.HasSubCommands() && len(args) > 0 {
			return c.RunE(c, args) // `hob tsak --all`: report the unknown word before the flag
		}
		if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && strings.IndexAny(unknown.GetSpecifiedShortnames(), "0123456789") == 0 {
			return &failure{
				code: exitUsage, cause: fmt.Sprintf("%q begins with a hyphen and was read as a flag", "-"+clipTo(unknown.GetSpecifiedShortnames(), 60)),
				remedy: "write amounts without a sign; put -- before text that begins with a hyphen, such as: " + c.CommandPath() + " -- -5 degrees",
			}
		}
		return err
	})
	helpOf(root)
	addHelpTexts(root, "hob")
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { fmt.Fprint(c.OutOrStdout(), wrapHelp(c, a.windowWidth())) })
	return root
}

// commandGroup returns a command that only has subcommands.
func (a *cli) commandGroup(c *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return a.listOrHelp(c)
		}
		msg := fmt.Sprintf("%q is not a command of %s", args[0], c.CommandPath())
		s := c.SuggestionsFor(args[0])
		slices.Sort(s) // a command can be similar and listed in SuggestFor
		if s = slices.Compact(s); len(s) > 0 {
			for i := range s {
				s[i] = c.CommandPath() + " " + s[i]
			}
			return &failure{code: exitUsage, cause: msg, remedy: "did you mean: " + strings.Join(s, ", ")}
		}
		return &failure{code: exitUsage, cause: msg, remedy: "see: " + c.CommandPath() + " --help"}
	}
	c.SuggestionsMinimumDistance = 2
	c.AddCommand(subs...)
	return c
}

// listOrHelp shows the list of a command group, or its help if it has none.
func (a *cli) listOrHelp(c *cobra.Command) error {
	at := slices.IndexFunc(c.Commands(), func(s *cobra.Command) bool { return s.Name() == "list" && s.RunE != nil })
	if at < 0 {
		return c.Help()
	}
	list := c.Commands()[at]
	list.SetContext(c.Context())
	if err := list.RunE(list, nil); err != nil {
		return err
	}
	fmt.Fprintln(a.err, "More: "+c.CommandPath()+" --help")
	return nil
}

// versionFlag adds the flag --version in the same way as cobra, but without cobra's templates; see
// platform/text/minitmpl. Without a flag and a command, hob prints the first steps.
func (a *cli) versionFlag(root *cobra.Command) {
	wanted := root.Flags().BoolP("version", "v", false, "version for hob")
	run := root.RunE
	root.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case *wanted:
			fmt.Fprintln(a.out, "hob", a.version)
			return nil
		case len(args) == 0:
			fmt.Fprint(a.out, firstSteps)
			return nil
		}
		return run(c, args)
	}
}

// runCommand marks the start of a command's own code. Later errors are failures, not usage errors.
// Empty arguments, for example from an unset variable, are usage errors.
func (a *cli) runCommand(fn func(c *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		a.started = true
		if err := a.byOwner(c); err != nil {
			return err
		}
		if len(args) > 0 && joinWords(args) == "" {
			return usageErrorf("the argument is empty")
		}
		if f := c.Flags().Lookup("session"); f != nil && f.Changed && f.Value.String() == "" {
			return usageErrorf("--session is empty; name a conversation, or remove the flag")
		}
		return fn(c, args)
	}
}

// byOwner rejects processes that Hob started: tools, commands, external agents and their children.
// They run under the user's account but must not act as the user: they cannot approve requests,
// change the configuration or send messages. The daemon also checks this; the check here applies to
// commands that need no daemon.
func (a *cli) byOwner(c *cobra.Command) error {
	switch c.Name() {
	case "version", containertool.Command:
		return nil
	}
	daemon := 0
	if p, err := system.DefaultPaths(); err == nil {
		if h, held, err := system.Probe(p.LockFile()); err == nil && held {
			daemon = h.PID
		}
	}
	if os.Getenv(system.Marker) == "" && !system.StartedByHob(os.Getpid(), daemon) {
		return nil
	}
	return &failure{code: exitDenied, cause: "programs started by Hob cannot act as you", remedy: "run this in your own terminal"}
}

// addJSONFlag adds --json to a command that prints a list or a value.
func (a *cli) addJSONFlag(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&a.asJSON, "json", false, "print JSON for programs")
	return c
}

// countWords makes the command print its usage if the number of arguments is wrong.
func countWords(c *cobra.Command) {
	check := c.Args
	if check == nil {
		return
	}
	c.Args = func(c *cobra.Command, args []string) error {
		err := check(c, args)
		if err == nil {
			return nil
		}
		_, operands, _ := strings.Cut(c.Use, " ")
		if operands == "" {
			return usageErrorf("%s takes no arguments, but got %q", c.CommandPath(), strings.Join(args, " "))
		}
		return usageErrorf("wrong number of arguments; use: %s %s", c.CommandPath(), operands)
	}
}

// joinWords joins the arguments of a command that accepts plain words.
func joinWords(args []string) string { return strings.TrimSpace(strings.Join(args, " ")) }

// changedFlags returns the flags that were set, keyed by the names of a tool's arguments.
func changedFlags(c *cobra.Command, names ...string) map[string]any {
	out := map[string]any{}
	for _, n := range names {
		f := c.Flags().Lookup(n)
		if f == nil || !f.Changed {
			continue
		}
		switch f.Value.Type() {
		case "bool":
			out[n] = f.Value.String() == "true"
		default:
			out[n] = f.Value.String()
		}
	}
	return out
}
