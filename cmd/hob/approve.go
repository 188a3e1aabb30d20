package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
)

func (a *cli) approvalsCmd() *cobra.Command {
	var all bool
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List pending approvals", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			q := api.Query{State: "pending"}
			if all {
				q.State = ""
			}
			return a.withClient(c.Context(), func(cl *client) error {
				rows, err := cl.Approvals(c.Context(), q)
				if err != nil {
					return err
				}
				if a.asJSON {
					return a.printJSON(rows)
				}
				a.printApprovals(rows)
				return nil
			})
		}),
	})
	list.Flags().BoolVarP(&all, "all", "a", false, "include decided requests")
	return a.commandGroup(&cobra.Command{Use: "approvals", Short: "List and show pending approvals"}, list, a.approvalsShowCmd())
}

// approvalsShowCmd shows one approval request, or a batch, with all details.
func (a *cli) approvalsShowCmd() *cobra.Command {
	return a.addJSONFlag(&cobra.Command{
		Use: "show ID", Short: "Show one approval request in full", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeApprovals,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.withClient(c.Context(), func(cl *client) error {
				rows, err := cl.Approvals(c.Context(), api.Query{})
				if err != nil {
					return err
				}
				rows = slices.DeleteFunc(rows, func(q api.Approval) bool { return q.ID != args[0] && (q.Batch == "" || q.Batch != args[0]) })
				switch {
				case len(rows) == 0:
					return &failure{code: exitFailed, cause: fmt.Sprintf("approval request %q not found", args[0]), remedy: "see: hob approvals list --all"}
				case a.asJSON:
					return a.printJSON(rows)
				}
				a.printApprovals(rows)
				return nil
			})
		}),
	})
}

// completeApprovals completes the ids of the pending requests.
func (a *cli) completeApprovals(c *cobra.Command, args []string, _ string) (out []string, _ cobra.ShellCompDirective) {
	if len(args) == 0 {
		_ = a.withClient(c.Context(), func(cl *client) error { // if Hob does not answer, nothing is completed
			rows, err := cl.Approvals(c.Context(), api.Query{State: "pending"})
			for _, q := range rows {
				out = append(out, q.ID+"\t"+clipLine(q.Sentence(), 60))
			}
			return err
		})
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// printApprovals prints each request in full, because users must read what they approve.
func (a *cli) printApprovals(rows []api.Approval) {
	if len(rows) == 0 {
		fmt.Fprintln(a.out, "No pending approvals.")
		return
	}
	zone := a.userZone()
	for i, q := range rows {
		if i > 0 {
			fmt.Fprintln(a.out)
		}
		fmt.Fprintln(a.out, a.colorize(a.out, bold, a.wrapToWindow(q.Sentence(), "")))
		if s := q.Explanation(); s != "" {
			fmt.Fprintln(a.out, a.wrapToWindow(s, "  "))
		}
		lines := []api.Detail{
			{Label: "id", Text: q.ID},
			{Label: "state", Text: q.State},
			{Label: "from", Text: cmp.Or(q.Source, q.Session)},
			{Label: "session", Text: q.Session},
			{Label: "until", Text: formatTime(zone, q.ExpiresAt)},
			{Label: "batch", Text: q.Batch},
			{Label: "--scope pattern", Text: q.Pattern},
		}
		a.printDetails(a.out, append(lines, q.Details()...))
	}
}

// printDetails prints labeled lines. It omits empty ones.
func (a *cli) printDetails(w io.Writer, lines []api.Detail) {
	for _, l := range lines {
		if l.Text != "" {
			fmt.Fprintf(w, "    %-16s%s\n", l.Label+":", sanitizePrintable(l.Text))
		}
	}
}

// grantScope holds the flags that set the scope of a grant.
type grantScope struct {
	scope, time string
	uses        int
}

func (l *grantScope) addFlags(c *cobra.Command) {
	c.Flags().StringVar(&l.time, "for", "", `duration of the grant, with --scope: "1h" (default), "7d"`)
	c.Flags().StringVar(&l.scope, "scope", "", `once, session (same call in this conversation), task (until this task is done), pattern (similar calls)`)
	c.Flags().IntVar(&l.uses, "uses", 0, "maximum number of calls")
}

// approval returns an approval with this scope.
func (l *grantScope) approval() (api.Answer, error) {
	scope := l.scope
	if scope == "" && (l.time != "" || l.uses != 0) {
		scope = "session"
	}
	if (scope == "" || scope == "once") && (l.time != "" || l.uses != 0) {
		return api.Answer{}, usageErrorf("--scope once covers only this call; remove --for and --uses")
	}
	return api.Answer{Approved: true, Scope: scope, Expires: l.time, Uses: l.uses}, nil
}

func (a *cli) approveCmd() *cobra.Command {
	var l grantScope
	var batch string
	cmd := &cobra.Command{
		Use: "approve [ID]", Short: "Approve a request", Args: cobra.MaximumNArgs(1), ValidArgsFunction: a.completeApprovals,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			in, err := l.approval()
			if err != nil {
				return err
			}
			id, err := oneOf(joinWords(args), batch)
			if err != nil {
				return err
			}
			return a.decideApproval(c.Context(), id, in, true, "Approved: ")
		}),
	}
	l.addFlags(cmd)
	cmd.Flags().StringVar(&batch, "batch", "", "approve all pending requests in this batch")
	cmd.Flags().StringVar(&batch, "all-of", "", "same as --batch")
	_ = cmd.Flags().MarkHidden("all-of") // cannot fail: the flag exists
	return cmd
}

func (a *cli) denyCmd() *cobra.Command {
	var note, batch string
	cmd := &cobra.Command{
		Use: "deny [ID]", Short: "Deny a request", Args: cobra.MaximumNArgs(1), ValidArgsFunction: a.completeApprovals,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			id, err := oneOf(joinWords(args), batch)
			if err != nil {
				return err
			}
			return a.decideApproval(c.Context(), id, api.Answer{Note: note}, false, "Denied: ")
		}),
	}
	cmd.Flags().StringVar(&note, "note", "", "reason, shown to the model")
	cmd.Flags().StringVar(&batch, "batch", "", "deny all pending requests in this batch")
	return cmd
}

func oneOf(id, batch string) (string, error) {
	if id != "" && batch != "" {
		return "", usageErrorf("give an ID or --batch, not both")
	}
	return id + batch, nil
}

// decideApproval answers the request or batch called id. Without an id it answers the only pending
// request. If look is set, it first shows that request and asks on the terminal.
func (a *cli) decideApproval(ctx context.Context, id string, in api.Answer, look bool, said string) error {
	return a.withClient(ctx, func(c *client) error {
		waiting, err := c.Approvals(ctx, api.Query{State: "pending"})
		if err != nil {
			return err
		}
		var meant []api.Approval
		for _, q := range waiting {
			if q.ID == id || (id != "" && q.Batch == id) || (id == "" && len(waiting) == 1) {
				meant = append(meant, q)
			}
		}
		switch {
		case len(meant) == 0 && id != "":
			if all, err := c.Approvals(ctx, api.Query{}); err == nil {
				if i := slices.IndexFunc(all, func(q api.Approval) bool { return q.ID == id || q.Batch == id }); i >= 0 {
					return &failure{code: exitFailed, cause: fmt.Sprintf("the request was already answered: %s (%s)", all[i].State, all[i].Sentence()), remedy: "the first answer counts, and this one changed nothing"}
				}
			}
			return &failure{code: exitFailed, cause: fmt.Sprintf("no pending approval request %q", id), remedy: "see: hob approvals list --all"}
		case len(meant) == 0 && len(waiting) == 0:
			return &failure{code: exitFailed, cause: "no pending approvals", remedy: "see: hob approvals list --all"}
		case len(meant) == 0:
			return &failure{code: exitUsage, cause: fmt.Sprintf("%d approval requests are pending", len(waiting)), remedy: "name one: hob approvals list"}
		}
		if id == "" {
			id = meant[0].ID
			if look {
				if err := a.confirmUnnamed(ctx, meant[0]); err != nil {
					return err
				}
			}
		}
		decided, err := c.Answer(ctx, id, in)
		if err != nil {
			return err
		}
		for _, q := range decided.Approvals {
			fmt.Fprintln(a.out, said+q.Sentence())
		}
		return c.carryOut(ctx, meant)
	})
}

// confirmUnnamed shows the only pending request and asks on the terminal, because the pending
// request may not be the one that the user expects.
func (a *cli) confirmUnnamed(ctx context.Context, q api.Approval) error {
	switch ok, err := a.confirmApproval(ctx, q); {
	case err != nil:
		return err
	case !ok:
		return &failure{code: exitDenied, cause: "the approval request stays pending", remedy: "deny it with: hob deny " + q.ID}
	}
	return nil
}

// carryOut waits for the approved call if no daemon runs, because only this process can then
// complete it.
func (c *client) carryOut(ctx context.Context, decided []api.Approval) error {
	if c.finish == nil {
		return nil
	}
	seen := map[string]bool{}
	for _, q := range decided {
		if seen[q.Event] {
			continue
		}
		seen[q.Event] = true
		if _, err := c.waitEvent(ctx, q.Event, decided); err != nil {
			return err
		}
	}
	return nil
}

func (a *cli) grantCmd() *cobra.Command {
	var all bool
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List grants", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return printFetched(c.Context(), a, func(cl *client) ([]api.Grant, error) { return cl.Grants(c.Context(), api.Query{All: all}) }, "No grants.",
				"ALLOWS|TOOL|UNTIL|ID|STATE|WHERE|USED|NAME", func(g api.Grant) []any {
					return []any{cmp.Or(g.Pattern, g.Summary), g.Tool, g.ExpiresAt, g.ID, g.State, g.Session, g.Used, g.Name}
				})
		}),
	})
	list.Flags().BoolVarP(&all, "all", "a", false, "include expired and revoked grants")
	revoke := a.addJSONFlag(&cobra.Command{
		Use: "revoke ID", Short: "Revoke a grant", Args: cobra.ExactArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.withClient(c.Context(), func(cl *client) error {
				out, err := cl.Revoke(c.Context(), args[0], "")
				if err != nil {
					return err
				}
				return a.grantSaid("Revoked", out)
			})
		}),
	})
	return a.commandGroup(&cobra.Command{Use: "grant", Short: "Manage grants", SuggestFor: []string{"grants", "allow", "permit"}}, list, a.grantAddCmd(), revoke)
}

func (a *cli) grantAddCmd() *cobra.Command {
	var in api.NewGrant
	var args string
	add := a.addJSONFlag(&cobra.Command{
		Use: "add TOOL", Short: "Approve calls to a tool in advance", Args: cobra.ExactArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, words []string) error {
			in.Tool = words[0]
			if args != "" {
				if !json.Valid([]byte(args)) {
					return usageErrorf(`--args is not a JSON object; write it as '{"title": "milk"}'`)
				}
				in.Arguments = json.RawMessage(args)
			}
			return a.withClient(c.Context(), func(cl *client) error {
				out, err := cl.Grant(c.Context(), in)
				if err != nil {
					return err
				}
				return a.grantSaid("Allowed", out)
			})
		}),
	})
	add.Flags().StringVar(&in.Pattern, "pattern", "", `calls it covers: "git status *", "host:example.org", "to:ada@example.org", "below:/home/ada/Documents/plans"`)
	add.Flags().StringVar(&args, "args", "", "instead of a pattern: the exact arguments, as JSON")
	add.Flags().StringVar(&in.Session, "session", cliSession, `conversation it applies to; "watcher:ID" or "schedule:ID" for background work`)
	add.Flags().StringVar(&in.Name, "name", "", "name of the grant")
	add.Flags().StringVar(&in.Expires, "for", "", `duration: "1h" (default), at most "30d"`)
	add.Flags().IntVar(&in.Uses, "uses", 0, "maximum number of calls")
	add.Flags().BoolVar(&in.Outside, "outside", false, "also allow calls while untrusted text (an email, a page, a file) is in the context")
	return add
}

func (a *cli) grantSaid(word string, g api.Grant) error {
	if a.asJSON {
		return a.printJSON(g)
	}
	fmt.Fprintf(a.out, "%s: %s %s, until %s (%s)\n", word, g.Tool, sanitizePrintable(cmp.Or(g.Pattern, g.Summary)), formatTime(a.userZone(), g.ExpiresAt), g.ID)
	return nil
}
