package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"hob/autonomy/config"
	"hob/platform/host/system"
	"hob/platform/host/vault"
	"hob/templates"
)

func (a *cli) secretCmd() *cobra.Command {
	var file bool
	set := &cobra.Command{
		Use: "set NAME", Short: "Store a secret in the keychain or an encrypted file", Args: cobra.ExactArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.keepSecret(c.Context(), args[0], file) }),
	}
	set.Flags().BoolVar(&file, "file", false, "use the encrypted file, even if there is a keychain")
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List the names of secrets, never their values", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error { return a.listSecrets(c.Context()) }),
	})
	remove := &cobra.Command{
		Use: "remove NAME", Short: "Delete a secret permanently", Args: cobra.ExactArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			s, err := secretStore()
			if err != nil {
				return err
			}
			if err := s.Forget(c.Context(), args[0]); err != nil {
				return err
			}
			fmt.Fprintf(a.out, "Removed %s.\n", args[0])
			return nil
		}),
	}
	test := a.addJSONFlag(&cobra.Command{
		Use: "test [NAME]", Short: "Check whether one or all secrets can be read", Args: cobra.MaximumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.testSecrets(c.Context(), args) }),
	})
	adopt := &cobra.Command{
		Use: "adopt [KEY...]", Short: "Move secrets from the configuration to the secret store", ValidArgsFunction: completeKeys,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.moveSecrets(c.Context(), args, file) }),
	}
	adopt.Flags().BoolVar(&file, "file", false, "use the encrypted file, even if there is a keychain")
	return a.commandGroup(&cobra.Command{Use: "secret", Short: "Manage stored keys and passwords", SuggestFor: []string{"secrets", "keychain", "password"}}, set, list, remove, test, adopt)
}

func secretStore() (system.Secrets, error) {
	p, err := system.DefaultPaths()
	return vault.SecretsFor(p), err
}

// secretText reads a secret without echo. label names it in the prompt. A secret is never an argument, because other users could
// see it in the process list.
func (a *cli) secretText(label string) (string, error) {
	var text string
	if fd, tty := terminalFD(a.in); tty {
		fmt.Fprintf(a.err, "%s (not shown): ", label)
		b, err := term.ReadPassword(fd)
		fmt.Fprintln(a.err)
		if err != nil {
			return "", fmt.Errorf("read the secret: %w", err)
		}
		text = string(b)
	} else {
		line, err := bufio.NewReader(io.LimitReader(a.in, 64<<10)).ReadString('\n')
		if err != nil && line == "" {
			return "", usageErrorf("no secret on standard input; pipe the secret to this command")
		}
		text = line
	}
	if text = strings.TrimRight(text, "\r\n"); text == "" {
		return "", usageErrorf("the secret is empty")
	}
	return text, nil
}

// keepSecret reads a secret without echo and stores it.
func (a *cli) keepSecret(ctx context.Context, name string, file bool) error {
	if err := system.CheckSecretName(name); err != nil {
		return usageErrorf("%v", err)
	}
	s, err := secretStore()
	if err != nil {
		return err
	}
	text, err := a.secretText("Secret for " + name)
	if err != nil {
		return err
	}
	where, err := s.Keep(ctx, name, system.Secret(text), file)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "Stored in the %s. Refer to it as \"keychain:%s\".\n", where, name)
	return nil
}

func (a *cli) listSecrets(ctx context.Context) error {
	s, err := secretStore()
	if err != nil {
		return err
	}
	list, err := s.List(ctx)
	if err != nil {
		return err
	}
	if a.asJSON {
		return a.printJSON(list)
	}
	if len(list) == 0 {
		fmt.Fprintln(a.out, "No secrets. Store one with: hob secret set NAME")
	}
	for _, k := range list {
		fmt.Fprintf(a.out, "%-30s %s\n", k.Name, k.Where)
	}
	return nil
}

// secretCheck is the check result for one reference to a secret.
type secretCheck struct {
	Ref   string `json:"reference"`
	Key   string `json:"key,omitempty"` // configuration key
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

func (a *cli) testSecrets(ctx context.Context, args []string) error {
	s, err := secretStore()
	if err != nil {
		return err
	}
	var all []secretCheck
	if len(args) == 1 {
		all = []secretCheck{{Ref: "keychain:" + strings.TrimPrefix(args[0], "keychain:")}}
	} else if all, err = a.listReferences(ctx, s); err != nil {
		return err
	}
	bad := 0
	for i := range all {
		c, cancel := context.WithTimeout(ctx, 10*time.Second)
		_, err := s.Resolve(c, all[i].Ref)
		cancel()
		if all[i].OK = err == nil; err != nil {
			all[i].Error = err.Error()
			bad++
		}
	}
	if a.asJSON {
		err = a.printJSON(all)
	} else {
		a.printTested(all)
	}
	if err == nil && bad > 0 {
		err = &failure{code: exitFailed, cause: fmt.Sprintf("%d of %d secrets cannot be read", bad, len(all)), remedy: "see above"}
	}
	return err
}

func (a *cli) printTested(all []secretCheck) {
	if len(all) == 0 {
		fmt.Fprintln(a.out, "No secrets are stored, and the configuration refers to none.")
	}
	for _, t := range all {
		state := a.colorize(a.out, green, "ok   ")
		if !t.OK {
			state = a.colorize(a.out, red, "fail ")
		}
		fmt.Fprintln(a.out, strings.TrimSpace(fmt.Sprintf("%s %-34s %s", state, t.Ref, cmp.Or(t.Error, t.Key))))
	}
}

// listReferences lists the secrets that the configuration refers to, and the other stored secrets.
func (a *cli) listReferences(ctx context.Context, s system.Secrets) ([]secretCheck, error) {
	out := []secretCheck{}
	_, cfg, err := a.loadHome()
	if err != nil {
		return nil, err
	}
	keys, refs := cfg.References()
	for i := range refs {
		out = append(out, secretCheck{Ref: refs[i], Key: keys[i]})
	}
	list, err := s.List(ctx)
	for _, k := range list {
		if ref := "keychain:" + k.Name; !slices.Contains(refs, ref) {
			out = append(out, secretCheck{Ref: ref})
		}
	}
	return out, err
}

// moveSecrets moves secrets out of the configuration. It changes the file only after all secrets
// have been stored and read back. This cannot be undone, because undo would need the secrets in
// plain text; for the same reason, earlier versions of the file are deleted. An interrupted
// template change is completed first, because it has its own copies of the configuration.
func (a *cli) moveSecrets(ctx context.Context, keys []string, file bool) error {
	return a.withTemplateLock(ctx, func(_ system.Paths, h *templates.Installation) error { return a.adoptAlone(ctx, h, keys, file) })
}

func (a *cli) adoptAlone(ctx context.Context, h *templates.Installation, keys []string, file bool) error {
	p, cfg, err := a.loadHome()
	if err != nil {
		return err
	}
	found := cfg.PlainSecrets()
	for _, k := range keys {
		if !slices.ContainsFunc(found, func(s config.PlainSecret) bool { return s.Key == k }) {
			return &failure{code: exitFailed, cause: k + " does not contain an unencrypted secret", remedy: "see: hob doctor"}
		}
	}
	if len(keys) > 0 {
		found = slices.DeleteFunc(found, func(s config.PlainSecret) bool { return !slices.Contains(keys, s.Key) })
	}
	if len(found) == 0 {
		fmt.Fprintln(a.out, "The configuration contains no secrets.")
		return nil
	}
	kept := vault.SecretsFor(p)
	list, err := kept.List(ctx)
	if err != nil {
		return err
	}
	var values []config.Value
	for _, s := range found {
		name := s.Name()
		if slices.ContainsFunc(list, func(k system.StoredSecret) bool { return k.Name == name }) {
			if old, err := kept.Resolve(ctx, "keychain:"+name); err != nil || old != s.Value {
				name = strings.ReplaceAll(strings.ReplaceAll(s.Key, "\"", ""), "/", "_") + "." + time.Now().UTC().Format("20060102T150405")
			}
		}
		where, err := kept.Keep(ctx, name, s.Value, file)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Key, err)
		}
		fmt.Fprintf(a.out, "%s is stored in the %s as %s.\n", s.Key, where, name)
		values = append(values, config.Value{Key: s.Key, Value: "keychain:" + name})
	}
	// Change the copies first: after a crash the secret is then still in the configuration, so the
	// next run finds it.
	if err := adoptInTemplates(h, found, values); err != nil {
		return fmt.Errorf("the configuration that was saved before the active template was applied still contains the secret: %w", err)
	}
	if _, err := config.SetAll(p.ConfigFile(), values); err != nil {
		return fmt.Errorf("the configuration was not changed: %w", err)
	}
	if err := revisionsOf(p).Purge(); err != nil {
		return fmt.Errorf("earlier versions of the configuration, which contain the secret, could not be deleted: %w", errors.Join(err))
	}
	fmt.Fprintln(a.out, "The configuration now refers to the stored secrets. Earlier versions that contained them in plain text were deleted; this cannot be undone.")
	if left, err := backupsWith(p.Backups(), found); err != nil || len(left) > 0 {
		fmt.Fprintf(a.out, "These backups still contain them in plain text: %s\nMake a new backup with `hob backup`, and then delete these folders in %s.\n", strings.Join(left, ", "), p.Backups())
		return err
	}
	return nil
}

// backupsWith returns the names of the backups whose configuration contains one of the secrets.
func backupsWith(dir string, secrets []config.PlainSecret) (out []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && (d.IsDir() || d.Name() != "config.toml") {
			return nil
		}
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if name, _, _ = strings.Cut(filepath.ToSlash(name), "/"); slices.Contains(out, name) {
			return nil
		}
		if slices.ContainsFunc(secrets, func(s config.PlainSecret) bool { return bytes.Contains(text, []byte(s.Value)) }) {
			out = append(out, name)
		}
		return nil
	})
	return out, err
}
