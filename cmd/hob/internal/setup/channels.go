package setup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hob/autonomy/config"
	"hob/cmd/hob/internal/channel"
	"hob/platform/host/desktop"
	"hob/platform/text/settings"
)

// isOffered reports whether a channel can be enabled here.
func (o Options) isOffered(name string) bool {
	if o.Offered != nil {
		return o.Offered(name)
	}
	k, ok := channel.Find(name)
	return ok && k.Here()
}

// availableChannels returns the channels that the user can choose on this machine.
func (o Options) availableChannels() (out []channelSetup) {
	for _, c := range channelSetups() {
		if o.isOffered(c.Name) {
			out = append(out, c)
		}
	}
	return out
}

// channelStep returns the step that asks for the channels and where to send notifications.
func channelStep() Step {
	keys := []string{"channels"}
	for _, c := range channelSetups() {
		for _, f := range c.Settings {
			if !f.Unasked {
				keys = append(keys, c.questionKey(f))
			}
		}
	}
	return Step{
		Name: "channels", Title: "Channels", Keys: append(keys, "notify"),
		About: "The terminal (hob chat) and the web page (hob open) are always available. Choose further channels.",
		Next:  nextOfChannels, Apply: applyChannels,
	}
}

func nextOfChannels(_ context.Context, o Options, a Answers) ([]Question, error) {
	if !a.isGiven("channels") {
		q := Question{Key: "channels", Kind: Several, Title: "Which channels should Hob use?"}
		var on []string
		for _, c := range o.availableChannels() {
			q.Options = append(q.Options, Option{c.Name, c.displayTitle()})
			if o.channelOn(c.Name) {
				on = append(on, c.Name)
			}
		}
		q.Default = strings.Join(on, ",")
		return []Question{q}, nil
	}
	for _, c := range o.availableChannels() {
		if !slices.Contains(Items(a["channels"]), c.Name) {
			continue
		}
		if qs := c.nextQuestions(o, a); len(qs) > 0 {
			return qs, nil
		}
	}
	remote := slices.ContainsFunc(Items(a["channels"]), func(name string) bool { k, _ := channel.Find(name); return !k.OnDesktop })
	if a.isGiven("notify") || !remote { // without another channel there is nothing to choose
		return nil, nil
	}
	q := Question{Key: "notify", Kind: Choice, Title: "Where should Hob send notifications?", Default: o.Config.Notify.Channel, Options: []Option{
		{"auto", "on the desktop while you use it, otherwise where you asked"},
		{"origin", "where you asked"},
	}}
	for _, name := range Items(a["channels"]) {
		q.Options = append(q.Options, Option{name, "always by " + name})
	}
	if !q.hasOption(q.Default) {
		q.Default = "origin"
	}
	return []Question{q}, nil
}

func (o Options) channelOn(name string) bool {
	s, there := o.Config.Channel(name)
	if there {
		return s.Enabled
	}
	k, _ := channel.Find(name)
	return k.OnDesktop && desktop.Available(o.Secrets.Env)
}

func applyChannels(ctx context.Context, o Options, a Answers) (StepResult, error) {
	var d StepResult
	wanted := Items(a["channels"])
	var changed []string
	for _, c := range o.availableChannels() {
		on := slices.Contains(wanted, c.Name)
		if on {
			more, err := c.applyAnswers(ctx, o, a)
			if err != nil {
				return d, err
			}
			d.Secrets, d.Values, d.Said = append(d.Secrets, more.Secrets...), append(d.Values, more.Values...), append(d.Said, more.Said...)
			if len(more.Values) > 0 {
				changed = append(changed, c.Name)
			}
		}
		d.Values = append(d.Values, o.switchChannel(c.Name, on)...)
	}
	if a.isGiven("notify") {
		d.Values = append(d.Values, o.changedValues(config.Value{Key: "notify.channel", Value: a["notify"]})...)
	}
	if o.TestChannel != nil && a[untested] == "" && len(changed) > 0 {
		d.Then = func(ctx context.Context) error {
			for _, name := range changed {
				o.tryChannel(ctx, name)
			}
			return nil
		}
	}
	return d, nil
}

// tryChannel prints whether the sign-in of a new channel works.
func (o Options) tryChannel(ctx context.Context, name string) {
	t, err := o.TestChannel(ctx, name)
	switch {
	case err != nil:
		fmt.Fprintf(o.Out, "  %s could not be tested: %v\n", name, err)
	case !t.OK:
		fmt.Fprintf(o.Out, "  %s does not work yet: %s\n", name, t.Cause)
		if t.Remedy != "" {
			fmt.Fprintf(o.Out, "    fix: %s; then: hob channel test %s\n", t.Remedy, name)
		}
	case t.Tried:
		fmt.Fprintf(o.Out, "  %s works: %s\n", name, t.Said)
	}
}

// switchChannel returns the change that enables or disables a channel, or no change if the channel
// is already in that state.
func (o Options) switchChannel(name string, on bool) []config.Value {
	if on == o.channelOn(name) {
		return nil
	}
	return []config.Value{{Key: "channels." + name + ".enabled", Value: map[bool]string{true: "true", false: "false"}[on]}}
}

// AddChannel sets up one channel. given contains answers by the keys of the channel's section, and
// ask asks for the rest. If ask is nil, the other settings keep their values or the driver's
// defaults. AddChannel returns the next steps as sentences, or ErrSkip if the user skipped the
// step.
func AddChannel(ctx context.Context, o Options, ask Asker, name string, given map[string]string) ([]string, error) {
	c, err := o.findChannel(name)
	if err != nil {
		return nil, err
	}
	pre, more, err := c.splitGiven(given)
	if err != nil {
		return nil, err
	}
	if err := o.Paths.Ensure(); err != nil {
		return nil, err
	}
	s := c.newStep(pre, more)
	if ask != nil {
		state, err := o.runStep(ctx, s, ask, 0, 0)
		if err == nil && state == stateSkipped {
			err = ErrSkip
		}
		return c.steps(), err
	}
	rest := func(qs []Question) (Answers, error) {
		out := Answers{}
		for _, q := range qs {
			if err := q.Verify(q.Default); err != nil {
				key := strings.TrimPrefix(q.Key, c.Name+"_")
				flag := "--set " + key + "=..."
				if q.Kind == Secret {
					flag = "--secret-from " + key + "=stdin, env:NAME, file:PATH or keychain:NAME"
				}
				return nil, fmt.Errorf("%s: %w; pass it with %s", key, err, flag)
			}
			out[q.Key] = q.Default
		}
		return out, nil
	}
	d, err := o.runQuestions(ctx, s, rest, func(p *Problem) (string, error) {
		return "", fmt.Errorf("%s: %w", strings.TrimPrefix(p.Keys[0], c.Name+"_"), p.Err)
	})
	if err != nil {
		return nil, err
	}
	return c.steps(), o.applyResult(ctx, s.Name, d)
}

// findChannel returns the setup of the channel called name if the channel can be set up here.
func (o Options) findChannel(name string) (c channelSetup, err error) {
	k, known := channel.Find(name)
	switch {
	case !known:
		if near := config.SuggestName(name, channel.Names()); near != "" {
			return c, fmt.Errorf("channel %q not found; did you mean %q?", name, near)
		}
		return c, fmt.Errorf("channel %q not found; known channels: %s", name, strings.Join(channel.Names(), ", "))
	case k.Always:
		return c, fmt.Errorf("%s always exists; no setup is needed", name)
	case !o.isOffered(name):
		return c, fmt.Errorf("%s is not supported on this machine; see: hob channel list", name)
	}
	all := channelSetups()
	return all[slices.IndexFunc(all, func(c channelSetup) bool { return c.Name == name })], nil
}

// Secrets returns the channel's keys that hold secrets.
func Secrets(name string) (out []string) {
	for _, c := range channelSetups() {
		for _, f := range c.Settings {
			if c.Name == name && f.Kind == settings.Secret {
				out = append(out, f.Key)
			}
		}
	}
	return out
}

// newStep returns the step for one channel. pre holds known answers, and more holds additional
// values to write.
func (c channelSetup) newStep(pre Answers, more []config.Value) Step {
	seeded := false
	return Step{
		Name: "channel " + c.Name, Title: c.displayTitle(), About: c.Intro,
		Next: func(_ context.Context, o Options, a Answers) ([]Question, error) {
			if !seeded { // only the first time, because a rejected value must be asked again
				seeded = true
				for _, q := range c.allQuestions(o, pre) {
					if v, ok := pre[q.Key]; ok {
						if err := q.Verify(v); err != nil {
							return nil, fmt.Errorf("%s: %w", strings.TrimPrefix(q.Key, c.Name+"_"), err)
						}
					}
				}
				maps.Copy(a, pre)
			}
			return c.nextQuestions(o, a), nil
		},
		Apply: func(ctx context.Context, o Options, a Answers) (StepResult, error) {
			d, err := c.applyAnswers(ctx, o, a)
			d.Values = append(append(d.Values, more...), o.switchChannel(c.Name, true)...)
			return d, err
		},
	}
}
