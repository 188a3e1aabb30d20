package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hob/autonomy/account"
	"hob/autonomy/config"
	"hob/platform/host/system"
	"hob/platform/host/vault"
	"hob/platform/pim"
	pimall "hob/platform/pim/all"
	"hob/platform/pim/signin"
)

func (a *cli) accountCmd() *cobra.Command {
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List the accounts", Args: cobra.NoArgs,
		RunE: a.runCommand(func(*cobra.Command, []string) error { return a.listAccounts() }),
	})
	var untested bool
	add := &cobra.Command{
		Use: "add ADDRESS", Short: "Add an account", Args: cobra.ExactArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.addAccount(c, args[0], untested) }),
	}
	f := add.Flags()
	f.String("name", "", "name of the account (default: the provider's name)")
	for _, d := range pimall.Descriptions() {
		f.String(d.Key, "", d.Flag)
	}
	f.String("user", "", "user name (default: the address)")
	f.String("auth", "", `sign-in method: "password" or "token"`)
	f.String("ca", "", "file with the server's CA certificate")
	f.StringSlice("trust", nil, "SHA-256 fingerprint of a certificate to trust, if no known authority signed it")
	f.String("password", "", "reference to the password: env:NAME, file:PATH or keychain:NAME (default: ask)")
	f.BoolVar(&untested, "untested", false, "save the account without signing in")
	test := a.addJSONFlag(&cobra.Command{
		Use: "test [NAME]", Short: "Test the sign-in to one or all accounts", Args: cobra.MaximumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.testAccounts(c.Context(), args) }),
	})
	remove := &cobra.Command{
		Use: "remove NAME", Short: "Remove an account and its password", Args: cobra.ExactArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.removeAccount(c.Context(), args[0]) }),
	}
	return a.commandGroup(&cobra.Command{Use: "account", Short: "Manage email and calendar accounts", SuggestFor: []string{"accounts", "mail", "email", "calendar"}}, list, add, test, remove)
}

// newAccountRow returns an account as shown in lists, without its secret.
func newAccountRow(c config.Account) map[string]string {
	row := map[string]string{"name": c.Name, "address": c.Login()}
	for kind, server := range c.Servers {
		row[kind] = server
	}
	if missing := c.MissingKeys(); missing != "" {
		row["missing"] = missing
	}
	return row
}

func (a *cli) listAccounts() error {
	_, cfg, err := a.loadHome()
	if err != nil {
		return err
	}
	rows := []map[string]string{}
	for _, c := range cfg.Accounts {
		rows = append(rows, newAccountRow(c))
	}
	if a.asJSON {
		return a.printJSON(rows)
	}
	if len(rows) == 0 {
		fmt.Fprintln(a.out, "No accounts. Add one with: hob account add ada@example.org")
	}
	for _, r := range rows {
		fmt.Fprintf(a.out, "%-12s %s", r["name"], r["address"])
		for _, d := range pimall.Descriptions() {
			if server := r[d.Key]; server != "" {
				fmt.Fprintf(a.out, "  %s: %s", d.Label, server)
			}
		}
		if missing := r["missing"]; missing != "" {
			fmt.Fprintf(a.out, "  (%s)", missing)
		}
		fmt.Fprintln(a.out)
	}
	return nil
}

func (a *cli) addAccount(c *cobra.Command, address string, untested bool) error {
	ctx := c.Context()
	p, cfg, err := a.loadHome()
	if err != nil {
		return err
	}
	n, hint, err := a.newAccount(c, cfg, address)
	if err != nil {
		return err
	}
	s := vault.SecretsFor(p)
	ref, _ := c.Flags().GetString("password")
	secret := ref
	switch {
	case ref != "" && !system.IsReference(ref):
		return usageErrorf("--password must be a reference such as keychain:NAME; other users could see a password in the process list")
	case ref != "":
		v, err := s.Resolve(ctx, ref)
		if err != nil {
			return err
		}
		secret = v.Reveal()
	default:
		if hint != "" {
			fmt.Fprintln(a.err, hint)
		}
		if secret, err = a.secretText("Password of " + n.Login()); err != nil {
			if _, tty := terminalFD(a.in); !tty {
				return usageErrorf("no password on standard input; pipe it to this command, or add --password env:NAME, file:PATH or keychain:NAME")
			}
			return err
		}
	}
	if !untested {
		said, unknown, err := a.tryAccount(c, p, n, secret)
		for _, l := range said {
			fmt.Fprintln(a.out, sanitizePrintable(l))
		}
		if len(unknown) > 0 {
			return &failure{code: exitFailed, cause: "nothing was saved: no known authority signed the certificates of the servers", remedy: "if the servers are yours or your company's and the fingerprints are right, run: hob account add " + address + givenFlags(c) + " --trust " + strings.Join(unknown, ",")}
		}
		if err != nil {
			return &failure{code: exitFailed, cause: "nothing was saved: " + err.Error(), remedy: account.Remedy(err, hint) + "; to save the account anyway, use --untested"}
		}
	}
	if ref != "" {
		secret = ref
	}
	err = a.editConfig(ctx, p, "a new account "+n.Name, func() error {
		values, err := n.Keep(ctx, s, secret)
		if err == nil {
			_, err = config.SetAll(p.ConfigFile(), values)
		}
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "Added the account %s.\n", n.Name)
	if err := a.restartToApply(ctx, p); err != nil {
		return err
	}
	fmt.Fprintln(a.out, "Show its mail and events with: hob brief")
	return nil
}

// tryAccount signs in to a new account. If no known authority signed the certificates of its servers, it
// asks on the terminal whether to trust them. Without a terminal, it returns their fingerprints.
func (a *cli) tryAccount(c *cobra.Command, p system.Paths, n *account.New, secret string) (said, prints []string, err error) {
	ctx := c.Context()
	trusted, err := c.Flags().GetStringSlice("trust")
	if err != nil {
		return nil, nil, err
	}
	said, unknown, err := n.TryTrusting(ctx, p, secret, trusted)
	if len(unknown) == 0 {
		return said, nil, err
	}
	fmt.Fprintln(a.err, "No known authority signed the certificates of these servers:")
	for _, x := range unknown {
		prints = append(prints, x.Fingerprint())
		fmt.Fprintln(a.err, "  "+sanitizePrintable(x.Describe()))
	}
	yes, asked, aerr := a.yesOrNo(ctx, "Trust them? Say yes only if the servers are yours or your company's.")
	switch {
	case aerr != nil:
		return said, nil, errors.Join(err, aerr)
	case !asked:
		return said, append(trusted, prints...), err
	case !yes:
		return said, nil, err
	}
	said, _, err = n.TryTrusting(ctx, p, secret, append(trusted, prints...))
	return said, nil, err
}

// givenFlags returns the flags of a command as the user gave them, without those that select certificates.
func givenFlags(c *cobra.Command) (out string) {
	c.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "trust" {
			out += " --" + f.Name + " " + f.Value.String()
		}
	})
	return out
}

// newAccount returns an account from the flags, with the servers that were found.
func (a *cli) newAccount(c *cobra.Command, cfg *config.Config, address string) (*account.New, string, error) {
	g := func(flag string) string { s, _ := c.Flags().GetString(flag); return strings.TrimSpace(s) }
	n := &account.New{Account: config.Account{Account: pim.Account{
		Name: g("name"), Address: address, Servers: pim.Servers{}, User: g("user"), Auth: g("auth"), CA: g("ca"),
	}}}
	var flags []string
	for _, kind := range pimall.Keys() {
		flags = append(flags, "--"+kind)
		if server := g(kind); server != "" {
			n.Servers[kind] = server
		}
	}
	var dns signin.Resolver = net.DefaultResolver
	if len(n.Servers) > 0 { // the user named servers, so do not look up others
		dns = nil
	}
	found, err := signin.Find(c.Context(), address, dns)
	switch {
	case err != nil:
		return nil, "", usageErrorf("%v", err)
	case dns != nil && found.Foreign != "":
		return nil, "", &failure{
			code: exitFailed, cause: fmt.Sprintf("the domain of %s points to servers in another domain: %s", address, found.Foreign),
			remedy: "if this is your provider, run: hob account add " + address + serverFlags(found),
		}
	case dns != nil && !found.Known():
		return nil, "", &failure{code: exitFailed, cause: "the servers of " + address + " are unknown", remedy: fmt.Sprintf("name them with %s, for example: hob account add %s %s SERVER %s SERVER; also --user NAME if that is not the address", strings.Join(flags, ", "), address, flags[0], flags[1])}
	}
	if n.Name == "" {
		n.Name = account.Name(address, found.Provider, cfg.Accounts)
	}
	for _, x := range cfg.Accounts {
		if x.Name == n.Name {
			return nil, "", &failure{code: exitFailed, cause: fmt.Sprintf("the account %q already exists", n.Name), remedy: "choose another --name, or first run: hob account remove " + n.Name}
		}
	}
	if dns == nil { // the password goes only to servers that the user named
		found = signin.Found{Provider: found.Provider}
	}
	n.Fill(found)
	return n, found.Hint, nil
}

// serverFlags returns the flags that name servers.
func serverFlags(s signin.Found) (flags string) {
	for _, kind := range pimall.Keys() {
		if server := s.Servers[kind]; server != "" {
			flags += " --" + kind + " " + server
		}
	}
	return flags
}

// accountTested is the test result for one server of an account.
type accountTested struct {
	Account string `json:"account"`
	Server  string `json:"server,omitempty"`
	OK      bool   `json:"ok"`
	Said    string `json:"said"`
}

func (a *cli) testAccounts(ctx context.Context, args []string) error {
	p, cfg, err := a.loadHome()
	if err != nil {
		return err
	}
	s := vault.SecretsFor(p)
	rows, bad, known := []accountTested{}, 0, false
	for _, c := range cfg.Accounts {
		if len(args) == 1 && c.Name != args[0] {
			continue
		}
		known = true
		if missing := c.MissingKeys(); missing != "" {
			rows, bad = append(rows, accountTested{Account: c.Name, Said: missing}), bad+1
			continue
		}
		at := c.Account
		at.Secret = func(ctx context.Context) (string, error) { return s.Reveal(ctx, c.Password) }
		for _, x := range signin.Check(ctx, at) {
			row := accountTested{Account: c.Name, Server: x.Server, OK: x.Err == nil, Said: x.Said}
			if x.Err != nil {
				row.Said, bad = x.Err.Error(), bad+1
			}
			rows = append(rows, row)
		}
	}
	if len(args) == 1 && !known {
		return noAccount(args[0])
	}
	if a.asJSON {
		if err := a.printJSON(rows); err != nil {
			return err
		}
	} else {
		for _, r := range rows {
			mark := map[bool]string{true: "ok  ", false: "FAIL"}[r.OK]
			fmt.Fprintf(a.out, "%s %s %s: %s\n", mark, r.Account, r.Server, sanitizePrintable(r.Said))
		}
	}
	if bad > 0 {
		return &failure{code: exitFailed, cause: fmt.Sprintf("%d of %d accounts do not work", bad, len(rows)), remedy: "docs/accounts.md"}
	}
	return nil
}

func noAccount(name string) error {
	return &failure{code: exitFailed, cause: fmt.Sprintf("account %q not found", name), remedy: "see: hob account list"}
}

func (a *cli) removeAccount(ctx context.Context, name string) error {
	p, cfg, err := a.loadHome()
	if err != nil {
		return err
	}
	var gone *config.Account
	for i := range cfg.Accounts {
		if cfg.Accounts[i].Name == name {
			gone = &cfg.Accounts[i]
		}
	}
	if gone == nil {
		return noAccount(name)
	}
	err = a.editConfig(ctx, p, "no account "+name, func() error { return config.Remove(p.ConfigFile(), "accounts."+name) })
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "Removed the account %s.\n", name)
	if err := a.restartToApply(ctx, p); err != nil {
		return err
	}
	if gone.Password == "keychain:"+account.SecretName(name) {
		if err := vault.SecretsFor(p).Forget(ctx, account.SecretName(name)); err != nil {
			return fmt.Errorf("the account was removed, but its password was not deleted: %w", err)
		}
	}
	return nil
}
