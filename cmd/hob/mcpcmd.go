package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/platform/text/textnorm"
)

// mcpCmd manages the MCP servers whose tools Hob uses, and the programs that use Hob's tools.
func (a *cli) mcpCmd() *cobra.Command {
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List the configured servers and their state", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return printFetched(c.Context(), a, func(cl *client) ([]api.MCPServer, error) { return cl.MCPServers(c.Context(), api.Query{}) },
				"No MCP servers. Add one with: hob mcp add NAME", "NAME|STATE|CAUSE|TOOLS|HELD|SANDBOX|ADDRESS", func(s api.MCPServer) []any {
					return []any{s.Name, s.State, s.Cause, s.Tools, countOrNone(s.Held), s.Sandbox, s.Address}
				})
		}),
	})
	tools := a.addJSONFlag(&cobra.Command{
		Use: "tools [NAME]", Short: "List what the servers offer", ValidArgsFunction: a.completeMCPNames, Args: cobra.MaximumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return printFetched(c.Context(), a, func(cl *client) ([]api.MCPTool, error) {
				return cl.MCPTools(c.Context(), api.Query{Of: strings.Join(args, "")})
			}, "No tools. See: hob mcp list", "NAME|KIND|STATE|EFFECTS|DESCRIPTION", mcpToolCells)
		}),
	})
	test := a.addJSONFlag(&cobra.Command{
		Use: "test NAME", Short: "Connect to a server and list its tools", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeMCPNames,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.withClient(c.Context(), func(cl *client) error {
				s, err := cl.TestMCP(c.Context(), args[0])
				switch {
				case err != nil:
					return err
				case a.asJSON:
					return a.printJSON(s)
				}
				fmt.Fprintf(a.out, "%s works: %d tools, revision %s.\n", s.Name, s.Tools, sanitizePrintable(s.Revision))
				if s.Cause != "" {
					fmt.Fprintln(a.out, sanitizePrintable(s.Cause))
				}
				return nil
			})
		}),
	})
	trust := a.addJSONFlag(&cobra.Command{
		Use: "trust NAME [DIGEST...]", Short: "Accept the changed tools of a server", Args: cobra.MinimumNArgs(1), ValidArgsFunction: a.completeMCPNames,
		Long: "Accept the changed tools of a server. Without a DIGEST, the command shows each change and, on a terminal, asks. A DIGEST from `hob mcp tools NAME` accepts exactly that declaration.",
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.withClient(c.Context(), func(cl *client) error { return a.trustMCP(c.Context(), cl, args[0], args[1:]) })
		}),
	})
	login := a.addJSONFlag(&cobra.Command{
		Use: "login NAME", Short: "Sign in to a server with OAuth", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeMCPNames,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.withClient(c.Context(), func(cl *client) error { return a.loginMCP(c.Context(), cl, args[0]) })
		}),
	})
	var most int
	logs := a.addJSONFlag(&cobra.Command{
		Use: "logs NAME", Short: "Show the last lines of a server's log", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeMCPNames,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			if err := checkLimit(most); err != nil {
				return err
			}
			return printFetched(c.Context(), a, func(cl *client) ([]api.MCPLogLine, error) {
				return cl.MCPLogs(c.Context(), api.Query{Of: args[0], Limit: most})
			}, "The log is empty.", "WHEN|LINE", func(l api.MCPLogLine) []any { return []any{l.At, l.Text} })
		}),
	})
	logs.Flags().IntVarP(&most, "lines", "n", 50, "number of lines")
	return a.commandGroup(&cobra.Command{Use: "mcp", Short: "Manage MCP servers and connect programs"}, append(a.mcpSetupCmds(), list, tools, a.mcpResourcesCmd(), a.mcpPromptCmd(), test, trust, login, logs, a.mcpServeCmd(), a.clientTokenCmd("mcp"))...)
}

// loginMCP shows the address of the login page and waits until the user has signed in.
func (a *cli) loginMCP(ctx context.Context, cl *client, name string) error {
	l, err := cl.LoginMCP(ctx, name, false)
	if err == nil && l.State == "open" {
		fmt.Fprintf(a.err, "Open this address in a browser on this machine and sign in:\n%s\n", sanitizePrintable(l.URL))
		l, err = cl.LoginMCP(ctx, name, true)
	}
	switch {
	case err != nil:
		return err
	case a.asJSON:
		return a.printJSON(l)
	}
	fmt.Fprintf(a.out, "Signed in to %s.\n", name)
	return nil
}

// mcpToolCells returns the cells of a tool. A changed tool shows both descriptions.
func mcpToolCells(t api.MCPTool) []any {
	text := textnorm.Ellipsize(strings.Join(strings.Fields(t.Description), " "), 120)
	switch t.State {
	case "changed":
		text = fmt.Sprintf("was: %s  now: %s", text, textnorm.Ellipsize(strings.Join(strings.Fields(t.Changed), " "), 120))
		if len(t.NewSchema) > 0 {
			text += "  (other arguments: see --json)"
		}
		text += "  digest: " + t.Digest
	case "refused":
		text = t.Cause
	}
	return []any{t.Name, t.Kind, t.State, t.Effects, text}
}

// trustMCP accepts the changed tools with the given digests or, without digests, the changed tools
// that it displays.
func (a *cli) trustMCP(ctx context.Context, cl *client, name string, digests []string) error {
	list, err := cl.MCPTools(ctx, api.Query{Of: name})
	if err != nil {
		return err
	}
	shown := []string{}
	for _, t := range list {
		if t.State == "changed" {
			shown = append(shown, t.Digest)
			if len(digests) == 0 && !a.asJSON {
				a.printChange(t)
			}
		}
	}
	if len(digests) == 0 {
		if digests = shown; len(shown) > 0 && !a.asJSON {
			ok, asked, err := a.yesOrNo(ctx, fmt.Sprintf("Accept %s of %s?", countText(len(shown), "changed tool", "changed tools"), name))
			if err != nil || asked && !ok {
				return err
			}
		}
	}
	changed := []api.MCPTool{}
	if len(digests) > 0 {
		if changed, err = cl.TrustMCP(ctx, name, digests); err != nil {
			return err
		}
	}
	switch {
	case a.asJSON:
		return a.printJSON(changed)
	case len(changed) == 0:
		fmt.Fprintf(a.out, "No tool of %s has changed.\n", name)
	}
	for _, t := range changed {
		fmt.Fprintf(a.out, "Accepted %s: %s\n", t.Name, sanitizePrintable(textnorm.Ellipsize(strings.Join(strings.Fields(t.Changed), " "), 200)))
	}
	return nil
}

// printChange prints both declarations of a changed tool in full.
func (a *cli) printChange(t api.MCPTool) {
	fmt.Fprintf(a.out, "%s\n  was: %s\n  now: %s\n", t.Name, sanitizePrintable(t.Description), sanitizePrintable(t.Changed))
	if len(t.NewSchema) > 0 {
		fmt.Fprintf(a.out, "  arguments: %s\n        now: %s\n", sanitizePrintable(string(t.Schema)), sanitizePrintable(string(t.NewSchema)))
	} else if t.Description == t.Changed {
		fmt.Fprintln(a.out, "  the title or the schema of the results changed")
	}
}
