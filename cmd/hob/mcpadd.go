package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hob/autonomy/config"
	"hob/platform/host/system"
	"hob/platform/host/vault"
	"hob/tools/mcp/servers"
)

// mcpSetupCmds returns the commands that change which MCP servers are configured.
func (a *cli) mcpSetupCmds() []*cobra.Command {
	var f mcpAddFlags
	add := a.addJSONFlag(&cobra.Command{
		Use: "add NAME [URL | -- COMMAND [ARG]...]", Short: "Add a known or any other MCP server",
		ValidArgsFunction: completeKnownServers,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			switch {
			case f.known && len(args) == 0:
				return a.listKnownMCP()
			case len(args) == 0, f.known:
				return usageErrorf("name a server, or list the known ones with: hob mcp add --known")
			}
			return a.addMCP(c.Context(), args, c.ArgsLenAtDash(), f)
		}),
	})
	add.Flags().BoolVar(&f.known, "known", false, "list the known servers")
	add.Flags().StringVar(&f.as, "as", "", "name in the configuration (default: NAME)")
	add.Flags().StringVar(&f.secret, "secret", "", "reference to the secret of a known server: env:NAME, file:PATH or keychain:NAME (default: ask)")
	add.Flags().StringArrayVar(&f.env, "env", nil, "variable of the program as NAME=VALUE; for a secret, VALUE is a reference; repeatable")
	add.Flags().StringArrayVar(&f.headers, "header", nil, "header of the requests as NAME=REFERENCE; repeatable")
	add.Flags().StringArrayVar(&f.folders, "folder", nil, "folder that the program may change; repeatable")
	add.Flags().StringArrayVar(&f.effects, "effect", nil, "effects of a tool as TOOL=EFFECT, such as search=read; repeatable")
	imp := a.addJSONFlag(&cobra.Command{
		Use: "import FILE", Short: "Add the servers in a file of Claude, VS Code or Cursor", Args: cobra.ExactArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.importMCP(c.Context(), args[0]) }),
	})
	remove := a.addJSONFlag(&cobra.Command{
		Use: "remove NAME", Short: "Remove an MCP server and its stored secrets", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeMCPNames,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.removeMCP(c.Context(), args[0]) }),
	})
	return []*cobra.Command{add, imp, remove}
}

// mcpAddFlags holds the flags of `hob mcp add`.
type mcpAddFlags struct {
	known                          bool
	as, secret                     string
	env, headers, folders, effects []string
}

func completeKnownServers(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var out []string
	if len(args) == 0 {
		for _, k := range servers.List() {
			out = append(out, k.Name+"\t"+k.Title)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// addedMCP is the JSON output of `hob mcp add --json`, and one row of `hob mcp import --json`.
type addedMCP struct {
	Name  string   `json:"name"`
	Added bool     `json:"added"`
	Cause string   `json:"cause,omitempty"` // why it was not added
	Notes []string `json:"notes,omitempty"`
	Next  []string `json:"next,omitempty"`
}

func (a *cli) addMCP(ctx context.Context, args []string, dash int, f mcpAddFlags) error {
	s, login, err := a.serverFromArgs(args, dash, f)
	if err != nil {
		return err
	}
	out, err := a.writeMCP(ctx, s)
	if err != nil {
		return err
	}
	if login {
		out.Next = append(out.Next, "sign in: hob mcp login "+s.Name)
	}
	out.Next = append(out.Next, "try it: hob mcp test "+s.Name)
	if a.asJSON {
		return a.printJSON(out)
	}
	a.printAddedMCP(out)
	return nil
}

func (a *cli) printAddedMCP(out addedMCP) {
	fmt.Fprintf(a.out, "Added the MCP server %s. Hob asks before each call of its tools, unless [mcp.servers.%s.effects] declares what the tool does.\n", out.Name, out.Name)
	for _, n := range out.Notes {
		fmt.Fprintln(a.out, "  note: "+sanitizePrintable(n))
	}
	for i, n := range out.Next {
		fmt.Fprintf(a.out, "  %d. %s\n", i+1, sanitizePrintable(n))
	}
}

// serverFromArgs returns the server that the arguments describe, and whether the user must sign in.
func (a *cli) serverFromArgs(args []string, dash int, f mcpAddFlags) (servers.Server, bool, error) {
	name := cmp.Or(f.as, args[0])
	var s servers.Server
	var login bool
	switch {
	case dash == 1 && len(args) > 1:
		s = servers.Server{Name: name, Command: args[1], Args: args[2:], Folders: f.folders}
	case dash >= 0:
		return s, false, usageErrorf("wrong arguments; use: hob mcp add NAME -- COMMAND ARGUMENTS")
	case len(args) == 2 && (strings.HasPrefix(args[1], "https://") || strings.HasPrefix(args[1], "http://")):
		s = servers.Server{Name: name, URL: args[1]}
	case len(args) > 1:
		return s, false, usageErrorf("%q is not an address; a program follows --: hob mcp add %s -- %s", clipTo(args[1], 60), clipTo(args[0], 32), clipTo(strings.Join(args[1:], " "), 100))
	default:
		k, ok := servers.Find(args[0])
		if !ok {
			return s, false, unknownMCPServer(args[0])
		}
		if k.NeedsFolder() && len(f.folders) == 0 {
			return s, false, usageErrorf("%s needs a folder; add --folder PATH", k.Name)
		}
		secret, err := a.knownSecret(k, f.secret)
		if err != nil {
			return s, false, err
		}
		s, login = k.Server(name, secret, f.secret != "", f.folders), k.OAuth
	}
	if len(args) > 1 && f.secret != "" {
		return s, false, usageErrorf("--secret is for known servers; use --env or --header")
	}
	return s, login, applyMCPFlags(&s, f)
}

// unknownMCPServer returns the error for a name that is not a known server.
func unknownMCPServer(name string) error {
	var names []string
	for _, k := range servers.List() {
		names = append(names, k.Name)
	}
	remedy := "list the known servers with: hob mcp add --known; add any other with: hob mcp add NAME URL, or hob mcp add NAME -- COMMAND"
	if near := config.SuggestName(name, names); near != "" {
		remedy = "did you mean " + near + "? " + remedy
	}
	return &failure{code: exitUsage, cause: fmt.Sprintf("%q is not a known MCP server", clipTo(name, 60)), remedy: remedy}
}

// knownSecret returns the secret of a known server, or a reference to it. It asks on a terminal.
func (a *cli) knownSecret(k servers.Known, ref string) (string, error) {
	switch {
	case k.Secret == nil && ref != "":
		return "", usageErrorf("%s needs no secret", k.Name)
	case k.Secret == nil:
		return "", nil
	case ref != "" && !system.IsReference(ref):
		return "", usageErrorf("--secret must be a reference such as keychain:NAME; other users could see a secret in the process list")
	case ref != "":
		return ref, nil
	}
	if _, tty := terminalFD(a.in); !tty {
		return "", nil // added with a reference; the next step says what to store
	}
	fmt.Fprintf(a.err, "%s needs %s: %s\n", k.Title, k.Secret.Label, k.Secret.Page)
	return a.secretText("Secret for " + k.Title)
}

// applyMCPFlags adds the variables, headers and effects of the flags to the server.
func applyMCPFlags(s *servers.Server, f mcpAddFlags) error {
	for _, part := range []struct {
		flag string
		list []string
		to   *map[string]string
	}{{"--env", f.env, &s.Env}, {"--header", f.headers, &s.Headers}, {"--effect", f.effects, &s.Effects}} {
		if *part.to = maps.Clone(*part.to); *part.to == nil {
			*part.to = map[string]string{}
		}
		for _, x := range part.list {
			name, v, ok := strings.Cut(x, "=")
			if !ok || name == "" {
				return usageErrorf("%s must be NAME=VALUE, not %q", part.flag, clipTo(name, 30))
			}
			if part.flag != "--effect" && config.IsSecret("mcp.servers.x.env."+name) && !system.IsReference(v) {
				return usageErrorf("%s looks like a secret, which other users could see in the process list; store it with hob secret set, and use %s %s=keychain:NAME", name, part.flag, name)
			}
			(*part.to)[name] = v
		}
	}
	return nil
}

// writeMCP stores the secrets of a server and adds its section to the configuration.
func (a *cli) writeMCP(ctx context.Context, s servers.Server) (addedMCP, error) {
	out := addedMCP{Name: s.Name, Notes: s.Notes}
	p, cfg, err := a.loadHome()
	if err != nil {
		return out, err
	}
	if slices.ContainsFunc(cfg.MCPServers(), func(x config.MCPServer) bool { return x.Name == s.Name }) {
		return out, &failure{code: exitFailed, cause: fmt.Sprintf("the MCP server %q already exists", s.Name), remedy: "choose another name with --as, or first run: hob mcp remove " + s.Name}
	}
	values, secrets, err := s.Prepare()
	if err != nil {
		return out, &failure{code: exitFailed, cause: s.Name + ": " + err.Error()}
	}
	if err := config.CanSet(p.ConfigFile(), values); err != nil { // check the values before a secret is stored
		return out, err
	}
	kept := vault.SecretsFor(p)
	for _, x := range secrets {
		if x.Value == "" {
			out.Next = append(out.Next, fmt.Sprintf("store %s: hob secret set %s", x.Hint, x.Name))
			continue
		}
		if _, err := kept.Keep(ctx, x.Name, system.Secret(x.Value), false); err != nil {
			return out, fmt.Errorf("nothing was added: %w", err)
		}
	}
	err = a.editConfig(ctx, p, "a new MCP server "+s.Name, func() error {
		_, err := config.SetAll(p.ConfigFile(), values)
		return err
	})
	if err != nil {
		return out, err
	}
	for _, note := range []string{s.MissingNote(), s.PinningNote()} {
		if note != "" {
			out.Notes = append(out.Notes, note)
		}
	}
	out.Added = true
	return out, nil
}

// knownRow is a row of `hob mcp add --known`.
type knownRow struct {
	Name   string `json:"name"`
	Title  string `json:"title"`
	Needs  string `json:"needs"`
	Advice string `json:"advice"`
}

func (a *cli) listKnownMCP() error {
	rows := []knownRow{}
	for _, k := range servers.List() {
		r := knownRow{Name: k.Name, Title: k.Title, Advice: k.Advice}
		switch {
		case k.Secret != nil:
			r.Needs = k.Secret.Label
		case k.OAuth:
			r.Needs = "sign-in"
		case k.NeedsFolder():
			r.Needs = "a folder"
		}
		rows = append(rows, r)
	}
	return printList(a, rows, "", "NAME|SERVICE|NEEDS|ADVICE", func(r knownRow) []any { return []any{r.Name, r.Title, r.Needs, r.Advice} })
}

// importMCP adds the servers of a file. A server that cannot be added does not affect the others.
func (a *cli) importMCP(ctx context.Context, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return &failure{code: exitFailed, cause: err.Error(), remedy: "name the file, such as ~/.claude.json, .mcp.json, .vscode/mcp.json or ~/.cursor/mcp.json"}
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, servers.MaxFile+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	list, err := servers.Parse(text, servers.Env{Home: home, Lookup: os.LookupEnv})
	if err != nil {
		return &failure{code: exitFailed, cause: path + ": " + err.Error()}
	}
	rows, added := []addedMCP{}, 0
	for _, x := range list {
		row := addedMCP{Name: x.Name}
		err := x.Err
		if err == nil {
			row, err = a.writeMCP(ctx, x.Server)
		}
		if err != nil {
			row.Cause = strings.TrimPrefix(err.Error(), x.Name+": ")
			if f, ok := errors.AsType[*failure](err); ok {
				row.Cause = strings.TrimPrefix(f.cause, x.Name+": ")
				if f.remedy != "" {
					row.Cause += "; " + f.remedy
				}
			}
			row.Added, row.Next, row.Notes = false, nil, nil
		} else {
			added++
		}
		rows = append(rows, row)
	}
	if a.asJSON {
		err = a.printJSON(rows)
	} else {
		a.printImported(rows)
	}
	if err == nil && added < len(rows) {
		err = &failure{code: exitFailed, cause: fmt.Sprintf("%d of %d servers were not added", len(rows)-added, len(rows)), remedy: "see above"}
	}
	return err
}

func (a *cli) printImported(rows []addedMCP) {
	for _, r := range rows {
		state := "added  "
		if !r.Added {
			state = "skipped"
		}
		fmt.Fprintln(a.out, strings.TrimSpace(fmt.Sprintf("%s  %-20s %s", state, r.Name, sanitizePrintable(r.Cause))))
		for _, n := range append(slices.Clone(r.Notes), r.Next...) {
			fmt.Fprintln(a.out, "           "+sanitizePrintable(n))
		}
	}
}

// removeMCP removes the section of a server, and the stored secrets that only this server uses.
func (a *cli) removeMCP(ctx context.Context, name string) error {
	p, cfg, err := a.loadHome()
	if err != nil {
		return err
	}
	list := cfg.MCPServers()
	i := slices.IndexFunc(list, func(s config.MCPServer) bool { return s.Name == name })
	if i < 0 {
		return &failure{code: exitFailed, cause: fmt.Sprintf("MCP server %q not found", clipTo(name, 60)), remedy: "see: hob mcp list"}
	}
	err = a.editConfig(ctx, p, "no MCP server "+name, func() error { return config.Remove(p.ConfigFile(), list[i].Section()) })
	if err != nil {
		return err
	}
	_, rest, err := a.loadHome()
	if err != nil {
		return err
	}
	_, used := rest.References()
	out := addedMCP{Name: name, Notes: []string{}}
	for _, values := range []map[string]string{list[i].Env, list[i].Headers} {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			secret := servers.SecretName(name, key)
			if values[key] != "keychain:"+secret || slices.Contains(used, values[key]) {
				continue
			}
			if err := vault.SecretsFor(p).Forget(ctx, secret); err != nil && !errors.Is(err, system.ErrNoSecret) {
				return fmt.Errorf("the server was removed, but its secret %s was not deleted: %w", secret, err)
			}
			out.Notes = append(out.Notes, "deleted the secret "+secret)
		}
	}
	if a.asJSON {
		return a.printJSON(out)
	}
	fmt.Fprintf(a.out, "Removed the MCP server %s.\n", name)
	for _, n := range out.Notes {
		fmt.Fprintln(a.out, "  "+n)
	}
	return nil
}
