package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/cmd/hob/internal/channel"
	"hob/cmd/hob/internal/setup"
	"hob/platform/host/system"
)

// channelFlags holds the flags of `hob channel add`.
type channelFlags struct {
	set, secrets              []string
	plain, manifest, untested bool
}

func (a *cli) channelAddCmd() *cobra.Command {
	var f channelFlags
	cmd := a.addJSONFlag(&cobra.Command{
		Use: "add CHANNEL", Short: "Set up or change a channel", Args: cobra.ExactArgs(1), ValidArgsFunction: completeChannels,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			if f.manifest {
				return a.printManifest(args[0])
			}
			return a.addChannel(c.Context(), args[0], f)
		}),
	})
	cmd.Flags().StringArrayVar(&f.set, "set", nil, "answer as KEY=VALUE, with a key of the section; repeatable")
	cmd.Flags().StringArrayVar(&f.secrets, "secret-from", nil, "source of a secret: KEY=stdin, KEY=env:NAME, KEY=file:PATH or KEY=keychain:NAME; KEY= is optional if there is only one secret")
	cmd.Flags().BoolVar(&f.plain, "plain", false, "ask line by line, for screen readers (also if ACCESSIBLE is set)")
	cmd.Flags().BoolVar(&f.untested, "untested", false, "do not sign in")
	cmd.Flags().BoolVar(&f.manifest, "manifest", false, "only print the manifest of the app or skill ("+strings.Join(channel.WithManifest(), ", ")+")")
	return cmd
}

// printManifest prints the file from which a platform creates its side of a channel.
func (a *cli) printManifest(name string) error {
	_, cfg, err := a.loadHome()
	if err != nil {
		return err
	}
	k, _ := channel.Find(name)
	if k.Manifest == nil {
		return usageErrorf("%s has no manifest; %s has one", name, channel.WithManifest()[0])
	}
	_, err = fmt.Fprint(a.out, k.Manifest(cfg.Agent.Name))
	return err
}

// addedChannel is the JSON output of `hob channel add --json`.
type addedChannel struct {
	Channel string          `json:"channel"`
	Test    *channel.Tested `json:"test,omitempty"`
	Next    []string        `json:"next"`
}

func (a *cli) addChannel(ctx context.Context, name string, f channelFlags) error {
	o, err := a.setupOptions()
	if err != nil {
		return err
	}
	if a.asJSON {
		o.Out = a.err
	}
	given, err := a.channelAnswers(o, name, f)
	if err != nil {
		return err
	}
	then, err := setup.AddChannel(ctx, o, a.newAsker(f.plain), name, given)
	switch {
	case errors.Is(err, setup.ErrSkip):
		return nil
	case errors.Is(err, setup.ErrLeft), err != nil && ctx.Err() != nil:
		fmt.Fprintln(a.err, "Nothing was changed.")
		return context.Canceled
	case err != nil:
		return err
	}
	out := addedChannel{Channel: name, Next: append([]string{}, then...)}
	running := a.isRunning(o.Paths)
	if !running {
		out.Next = append([]string{"Start Hob: hob start"}, out.Next...)
	}
	if !f.untested {
		t, err := a.tryChannel(ctx, name)
		if err != nil {
			return err
		}
		out.Test = &t
	}
	if a.asJSON {
		err = a.printJSON(out)
	} else {
		a.printAdded(out)
	}
	if err == nil && out.Test != nil && !out.Test.OK {
		err = &failure{code: exitFailed, cause: name + " is set up, but does not work yet: " + out.Test.Cause, remedy: out.Test.Remedy}
	}
	if running {
		err = cmp.Or(a.applyChannel(ctx, o.Paths), err)
	}
	if err != nil || a.asJSON {
		return err
	}
	return a.takeUp(ctx, name, running, len(then) > 0)
}

// applyChannel makes the running Hob use the settings of a channel. A new secret can leave the file
// unchanged, and Hob reads secrets only at its start.
func (a *cli) applyChannel(ctx context.Context, p system.Paths) error {
	if a.edited {
		return a.restartToApply(ctx, p)
	}
	fmt.Fprintln(a.err, "Hob restarts to apply it ...")
	if err := a.stopDaemon(ctx, stopWait); err != nil {
		return err
	}
	if _, err := a.startInBackground(ctx); err != nil {
		return err
	}
	fmt.Fprintln(a.err, "Hob runs with it now.")
	return nil
}

// takeUp starts Hob if it does not run and the user agrees on the terminal. Then it shows the pairing
// code on the terminal if one is needed.
func (a *cli) takeUp(ctx context.Context, name string, running, pairs bool) error {
	if !running {
		if yes, _, err := a.yesOrNo(ctx, "Start Hob now?"); err != nil || !yes {
			return err
		}
		started, err := a.startInBackground(ctx)
		if err != nil {
			return err
		}
		if err := a.printWelcome(ctx, started); err != nil {
			return err
		}
	}
	if _, in := terminalFD(a.in); !in || !pairs {
		return nil // the next steps name the command that pairs
	}
	list, err := a.loadChannels(ctx)
	if err != nil || slices.ContainsFunc(pairingsOf(list), func(p api.Pairing) bool { return p.Channel == name }) {
		return err
	}
	return a.pairChannel(ctx, name)
}

func (a *cli) printAdded(out addedChannel) {
	if out.Test != nil && out.Test.OK && out.Test.Tried {
		a.printTest(api.ChannelTest(*out.Test))
	}
	if len(out.Next) == 0 {
		fmt.Fprintf(a.out, "%s is set up.\n", out.Channel)
		return
	}
	fmt.Fprintf(a.out, "%s is set up. Next steps:\n", out.Channel)
	for i, s := range out.Next {
		fmt.Fprintf(a.out, "  %d. %s\n", i+1, s)
	}
}

// newAsker returns an asker for the terminal, or nil if there is no terminal.
func (a *cli) newAsker(plain bool) setup.Asker {
	_, in := terminalFD(a.in)
	if !in && !plain {
		return nil
	}
	return a.terminalAsker(plain)
}

// channelAnswers returns the answers given by flags. Secrets are never arguments, because other
// users could see them in the process list.
func (a *cli) channelAnswers(o setup.Options, name string, f channelFlags) (map[string]string, error) {
	out, secrets := map[string]string{}, setup.Secrets(name)
	for _, s := range f.set {
		key, v, ok := strings.Cut(s, "=")
		if !ok {
			return nil, usageErrorf("write it as --set KEY=VALUE, not %q", clipTo(key, 30))
		}
		if slices.Contains(secrets, key) && !system.IsReference(v) {
			return nil, usageErrorf("%s is a secret, which other users could see in the process list; pass it with --secret-from %s=stdin", key, key)
		}
		out[key] = v
	}
	for _, s := range f.secrets {
		key, from, ok := strings.Cut(s, "=")
		if !ok && len(secrets) == 1 {
			key, from = secrets[0], s
		}
		switch {
		case !slices.Contains(secrets, key):
			return nil, usageErrorf("--secret-from KEY=SOURCE: the secrets of %s are %s", name, strings.Join(secrets, ", "))
		case system.IsReference(from):
			out[key] = from
		case from != "stdin":
			return nil, usageErrorf("--secret-from %s=...: use stdin, env:NAME, file:PATH or keychain:NAME", key)
		default:
			v, err := a.secretLine(o, key)
			if err != nil {
				return nil, err
			}
			out[key] = v
		}
	}
	return out, nil
}

// secretLine reads a secret from the terminal without echo, or the next line of standard input.
func (a *cli) secretLine(o setup.Options, key string) (string, error) {
	if _, tty := terminalFD(a.in); tty {
		return a.secretText("Secret for " + key)
	}
	s, err := o.Stdin()
	if err != nil || s == "" {
		return "", usageErrorf("standard input contains no line for %s", key)
	}
	return s, nil
}
