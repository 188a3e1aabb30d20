package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/autonomy/config"
	"hob/cmd/hob/internal/channel"
	"hob/cmd/hob/internal/setup"
	"hob/platform/host/system"
	"hob/platform/host/vault"
)

func (a *cli) channelRemoveCmd() *cobra.Command {
	var yes bool
	cmd := a.addJSONFlag(&cobra.Command{
		Use: "remove CHANNEL", Short: "Remove a channel, its secrets and its pairings", Args: cobra.ExactArgs(1), ValidArgsFunction: completeChannels,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.removeChannel(c.Context(), args[0], yes) }),
	})
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "skip the confirmation")
	return cmd
}

// removalPlan lists the data to remove together with a channel.
type removalPlan struct {
	Channel  string        `json:"channel"`
	Section  bool          `json:"section"`
	Secrets  []string      `json:"secrets"`
	Pairings []api.Pairing `json:"pairings"`

	changes []config.Value // changes to other keys that name the channel
}

func (a *cli) removeChannel(ctx context.Context, name string, yes bool) error {
	p, cfg, err := a.loadHome()
	if err != nil {
		return err
	}
	l, err := a.planRemoval(ctx, p, cfg, name)
	if err != nil {
		return err
	}
	if !yes {
		for _, s := range l.summaryLines() {
			fmt.Fprintln(a.err, sanitizePrintable(s))
		}
		ok, asked, err := a.yesOrNo(ctx, "Remove the channel "+name+"?")
		switch {
		case err != nil:
			return err
		case !asked:
			return &failure{code: exitDenied, cause: "nothing was changed, because confirmation needs a terminal", remedy: "check the list above and confirm with: --yes"}
		case !ok:
			fmt.Fprintln(a.err, "Nothing was changed.")
			return nil
		}
	}
	if err := a.takeAway(ctx, p, l); err != nil {
		return err
	}
	if a.asJSON {
		return a.printJSON(l)
	}
	fmt.Fprintf(a.out, "Removed the channel %s.\n", name)
	return a.restartToApply(ctx, p)
}

// planRemoval determines the data to remove together with a channel.
func (a *cli) planRemoval(ctx context.Context, p system.Paths, cfg *config.Config, name string) (*removalPlan, error) {
	k, known := channel.Find(name)
	_, there := cfg.Channel(name)
	switch {
	case k.Always:
		return nil, &failure{code: exitFailed, cause: name + " always exists", remedy: "it cannot be removed"}
	case !known && !there:
		return nil, unknownChannel(name)
	}
	l := &removalPlan{Channel: name, Secrets: []string{}, Pairings: []api.Pairing{}}
	l.Section = there
	own, err := secretsOf(cfg, name)
	if err != nil {
		return nil, err
	}
	kept, err := vault.SecretsFor(p).List(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range own {
		if slices.ContainsFunc(kept, func(k system.StoredSecret) bool { return k.Name == s }) {
			l.Secrets = append(l.Secrets, s)
		}
	}
	list, err := a.loadChannels(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range pairingsOf(list) {
		if p.Channel == name {
			l.Pairings = append(l.Pairings, p)
		}
	}
	if !l.Section && len(l.Pairings) == 0 {
		f := &failure{code: exitFailed, cause: name + " is not set up", remedy: "see: hob channel list"}
		if k.OnDesktop {
			f.cause, f.remedy = "the "+name+" channel is active by default", "switch it off with: hob config set channels."+name+".enabled false"
		}
		return nil, f
	}
	if cfg.Notify.Channel == name {
		l.changes = append(l.changes, config.Value{Key: "notify.channel", Value: "origin"})
	}
	if slices.Contains(cfg.Notify.Fallback, name) {
		rest := slices.DeleteFunc(slices.Clone(cfg.Notify.Fallback), func(s string) bool { return s == name })
		l.changes = append(l.changes, config.Value{Key: "notify.fallback", Value: strings.Join(rest, ",")})
	}
	return l, nil
}

// secretsOf returns the stored secrets that only this channel uses.
func secretsOf(cfg *config.Config, name string) (out []string, err error) {
	if _, there := cfg.Channel(name); !there {
		return nil, nil
	}
	v, err := cfg.Get("channels." + name)
	if err != nil {
		return nil, err
	}
	keys, _ := v.(map[string]any)
	for key, v := range keys {
		ref, _ := v.(string)
		kept, is := strings.CutPrefix(ref, "keychain:")
		own := []string{setup.SecretName(name, ""), setup.SecretName(name, key), config.PlainSecret{Key: "channels." + name + "." + key}.Name()}
		if is && slices.Contains(own, kept) {
			out = append(out, kept)
		}
	}
	slices.Sort(out)
	return out, nil
}

// summaryLines describes the data to remove, and which part of it undo cannot restore.
func (l *removalPlan) summaryLines() (out []string) {
	if l.Section {
		out = append(out, "[channels."+l.Channel+"] is removed from the configuration. (hob undo restores it.)")
	}
	for _, v := range l.changes {
		out = append(out, v.Key+" refers to it and becomes "+fmt.Sprintf("%q", v.Value)+".")
	}
	if len(l.Secrets) > 0 {
		out = append(out, "These secrets are deleted permanently: "+strings.Join(l.Secrets, ", ")+".")
	}
	for _, p := range l.Pairings {
		out = append(out, cmp.Or(p.Name, p.Sender)+" on "+l.Channel+" is unpaired.")
	}
	return out
}

// takeAway removes the channel. It removes the section first, because without a section the channel
// receives nothing.
func (a *cli) takeAway(ctx context.Context, p system.Paths, l *removalPlan) error {
	if l.Section {
		err := a.editConfig(ctx, p, "no channel "+l.Channel, func() error {
			if len(l.changes) > 0 {
				if _, err := config.SetAll(p.ConfigFile(), l.changes); err != nil {
					return err
				}
			}
			return config.Remove(p.ConfigFile(), "channels."+l.Channel)
		})
		if err != nil {
			return err
		}
	}
	if len(l.Pairings) > 0 {
		err := a.withClient(ctx, func(cl *client) error {
			for _, x := range l.Pairings {
				if _, err := cl.Unpair(ctx, x.ID, ""); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("the section was removed, but an account is still paired: %w; see: hob channel list", err)
		}
	}
	s := vault.SecretsFor(p)
	for _, name := range l.Secrets {
		if err := s.Forget(ctx, name); err != nil {
			return fmt.Errorf("the channel was removed, but its secret %s was not: %w; run: hob secret remove %s", name, err, name)
		}
	}
	return nil
}
