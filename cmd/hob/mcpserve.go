package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/channels/web/mcpserver"
)

func (a *cli) mcpServeCmd() *cobra.Command {
	return &cobra.Command{
		Use: "serve", Short: "Serve MCP on standard input and output", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			cl, err := a.connectDaemon(c.Context())
			if err != nil {
				return err
			}
			b := &mcpserver.Bridge{Do: cl.Do, URL: cl.Address() + "/mcp", In: a.in, Out: a.out}
			if err := b.Run(c.Context()); err != nil {
				return &failure{code: exitNotRunning, cause: err.Error(), remedy: "check the daemon with: hob status", err: err}
			}
			return nil
		}),
	}
}

// clientTokenCmd returns the command for the tokens of a kind of external programs: mcp or a2a.
func (a *cli) clientTokenCmd(kind string) *cobra.Command {
	n := api.NewClient{Kind: kind}
	var list bool
	var revoke string
	c := a.addJSONFlag(&cobra.Command{
		Use: "token [NAME]", Short: "Create, list or revoke the tokens of programs", Args: cobra.MaximumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			switch given := len(args) == 1; {
			case list && (given || revoke != ""), revoke != "" && given:
				return usageErrorf("use only one of NAME, --list and --revoke")
			case list:
				return a.listClients(c.Context(), kind)
			case revoke != "":
				return a.revokeClient(c.Context(), kind, revoke)
			case !given:
				return usageErrorf("name the program: hob %s token NAME", kind)
			}
			n.Name = args[0]
			return a.createClient(c.Context(), n)
		}),
	})
	f := c.Flags()
	if kind == "mcp" {
		f.StringSliceVar(&n.Tools, "tools", nil, "the only `tools` that the program may call, separated by commas (default: all in [mcp.server] tools)")
	}
	f.StringVar(&n.Expires, "expires", "", "`duration` until the token becomes invalid, such as 30d (default: never)")
	f.BoolVar(&list, "list", false, "list the programs with a token")
	f.StringVar(&revoke, "revoke", "", "revoke the token of the program with this `name` or id")
	return c
}

// createClient creates a token and prints its access rights. The token is the last line.
func (a *cli) createClient(ctx context.Context, n api.NewClient) error {
	_, cfg, err := a.loadHome()
	if err != nil {
		return err
	}
	return a.withClient(ctx, func(cl *client) error {
		out, err := cl.CreateClient(ctx, n)
		if err != nil {
			return err
		}
		if a.asJSON {
			return a.printJSON(out)
		}
		at := "http://" + cfg.Web.Listen
		if cl.pid != 0 {
			at = cl.Address()
		}
		fmt.Fprintf(a.out, "This token gives access to %s/%s only. Hob treats the program as the person %s:%s, never as you.\n", at, n.Kind, n.Kind, n.Name)
		if n.Kind == "mcp" {
			fmt.Fprintf(a.out, "The program can call: %s. Calls that need your approval wait until you approve them.\n", cmp.Or(strings.Join(out.Callable, ", "), "no tools; see [mcp.server] tools"))
		}
		fmt.Fprintf(a.out, "The token %s. Revoke it with: hob %s token --revoke %s\n%s\n", a.expiryText(out.Client), n.Kind, n.Name, out.Token)
		return nil
	})
}

// expiryText describes when a token becomes invalid.
func (a *cli) expiryText(c api.Client) string {
	if c.Expires.IsZero() {
		return "does not expire"
	}
	return "expires on " + formatTime(a.userZone(), c.Expires)
}

func (a *cli) listClients(ctx context.Context, kind string) error {
	return a.withClient(ctx, func(cl *client) error {
		list, err := cl.Clients(ctx, api.Query{State: kind})
		if err != nil {
			return err
		}
		if a.asJSON {
			return a.printJSON(list)
		}
		if len(list) == 0 {
			fmt.Fprintf(a.out, "No program has a token. Create one with: hob %s token NAME\n", kind)
		}
		for _, c := range list {
			fmt.Fprintf(a.out, "%-20s %s  %s  %s\n", c.Name, c.ID, a.expiryText(c), cmp.Or(strings.Join(c.Tools, ","), "all configured tools"))
		}
		return nil
	})
}

func (a *cli) revokeClient(ctx context.Context, kind, name string) error {
	return a.withClient(ctx, func(cl *client) error {
		out, err := cl.RevokeClient(ctx, kind, name)
		if err != nil {
			return err
		}
		if a.asJSON {
			return a.printJSON(out)
		}
		fmt.Fprintf(a.out, "Revoked the token of %s. Its open calls are canceled.\n", out.Name)
		return nil
	})
}
