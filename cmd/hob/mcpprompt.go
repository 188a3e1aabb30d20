package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/autonomy/config"
	"hob/platform/host/system"
	"hob/platform/text/textnorm"
)

// mcpResourcesCmd lists the resources of a server.
func (a *cli) mcpResourcesCmd() *cobra.Command {
	return a.addJSONFlag(&cobra.Command{
		Use: "resources NAME", Short: "List the resources of a server", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeMCPNames,
		Long:    "List the resources and resource templates of a server, and which resources watchers follow.",
		Example: "  hob mcp resources files",
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return printFetched(c.Context(), a, func(cl *client) ([]api.MCPOffer, error) {
				return mcpOffers(c.Context(), cl, args[0], false)
			}, "No resources. See: hob mcp tools "+args[0], "URI|KIND|WATCHED|DESCRIPTION", func(o api.MCPOffer) []any {
				watched := ""
				if o.Watched {
					watched = "yes"
				}
				return []any{o.Name, o.Kind, watched, textnorm.Ellipsize(o.Description, 120)}
			})
		}),
	})
}

// mcpPromptCmd lists the prompts of a server, or prints one.
func (a *cli) mcpPromptCmd() *cobra.Command {
	return a.addJSONFlag(&cobra.Command{
		Use: "prompt NAME [PROMPT [ARG=VALUE...]]", Short: "List the prompts of a server, or print one", Args: cobra.MinimumNArgs(1), ValidArgsFunction: a.completeMCPPrompt,
		Long: `List the prompts of a server with their arguments, or print one prompt. The server
writes the text, so read it before you use it. In a chat, ask for the prompt by its name.`,
		Example: "  hob mcp prompt everything\n  hob mcp prompt everything args-prompt city=Lisbon",
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				return printFetched(c.Context(), a, func(cl *client) ([]api.MCPOffer, error) {
					return mcpOffers(c.Context(), cl, args[0], true)
				}, "No prompts. See: hob mcp tools "+args[0], "PROMPT|ARGUMENTS|DESCRIPTION", func(o api.MCPOffer) []any {
					return []any{o.Name, argumentNames(o.Arguments), textnorm.Ellipsize(o.Description, 120)}
				})
			}
			values, err := promptArguments(args[2:])
			if err != nil {
				return err
			}
			return a.withClient(c.Context(), func(cl *client) error {
				p, err := cl.MCPPrompt(c.Context(), args[0], api.MCPPromptCall{Prompt: args[1], Arguments: values})
				switch {
				case err != nil:
					return err
				case a.asJSON:
					return a.printJSON(p)
				}
				for _, m := range p.Messages {
					fmt.Fprintf(a.out, "%s: %s\n", sanitizePrintable(m.Role), sanitizePrintable(m.Text))
				}
				return nil
			})
		}),
	})
}

// mcpOffers lists the prompts of a server, or its resources.
func mcpOffers(ctx context.Context, cl *client, name string, prompts bool) ([]api.MCPOffer, error) {
	list, err := cl.MCPOffers(ctx, api.Query{Of: name})
	out := []api.MCPOffer{}
	for _, o := range list {
		if (o.Kind == "prompt") == prompts {
			out = append(out, o)
		}
	}
	return out, err
}

// argumentNames lists the arguments of a prompt; optional ones are in brackets.
func argumentNames(list []api.MCPArgument) string {
	var out []string
	for _, a := range list {
		if a.Required {
			out = append(out, a.Name)
		} else {
			out = append(out, "["+a.Name+"]")
		}
	}
	return strings.Join(out, " ")
}

// promptArguments parses ARG=VALUE arguments.
func promptArguments(args []string) (map[string]string, error) {
	out := map[string]string{}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, usageErrorf("the argument %q of the prompt must be ARG=VALUE", arg)
		}
		out[name] = value
	}
	return out, nil
}

// completeMCPNames completes the names of the configured servers.
func (a *cli) completeMCPNames(_ *cobra.Command, args []string, _ string) (out []string, _ cobra.ShellCompDirective) {
	p, err := system.DefaultPaths()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	cfg, err := config.Load(p.ConfigFile())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, s := range cfg.MCPServers() {
		out = append(out, s.Name)
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeMCPPrompt completes the server, the prompt, the names of its arguments, and their values as
// the server suggests them.
func (a *cli) completeMCPPrompt(c *cobra.Command, args []string, begun string) (out []string, how cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completeMCPNames(c, args, begun)
	}
	how = cobra.ShellCompDirectiveNoFileComp
	_ = a.withClient(c.Context(), func(cl *client) error { // a server that does not answer completes nothing
		if name, value, ok := strings.Cut(begun, "="); ok && len(args) > 1 {
			others, err := promptArguments(args[2:])
			if err != nil {
				return err
			}
			values, err := cl.MCPValues(c.Context(), args[0], api.MCPValueQuery{Prompt: args[1], Argument: name, Value: value, Others: others})
			for _, v := range values {
				out = append(out, name+"="+sanitizePrintable(v))
			}
			return err
		}
		list, err := mcpOffers(c.Context(), cl, args[0], true)
		for _, o := range list {
			if len(args) == 1 {
				out = append(out, sanitizePrintable(o.Name+"\t"+o.Description))
				continue
			}
			if o.Name == args[1] {
				how |= cobra.ShellCompDirectiveNoSpace
				for _, g := range o.Arguments {
					out = append(out, sanitizePrintable(g.Name+"=\t"+g.Description))
				}
			}
		}
		return err
	})
	return out, how
}
