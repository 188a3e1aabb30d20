package setup

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"hob/autonomy/config"
	channel "hob/channels/desktop"
	"hob/platform/desktop"
)

// channelSetup is how one channel is switched on. The terminal and the page are
// always there and have none.
type channelSetup struct {
	Name, Title string
	// Questions of its own, with keys that begin with its name.
	Questions func(o Options) []Question
	// Apply tries the answers, and says what follows.
	Apply func(ctx context.Context, o Options, a Answers) (Done, error)
}

// channelSetups are the channels to choose from. A new one is a line here.
func channelSetups() []channelSetup {
	return []channelSetup{
		desktopChannel(),
		webhookChannel(),
	}
}

// channelStep asks where the owner talks with Hob, and where he is told things.
func channelStep() Step {
	keys := []string{"channels"}
	for _, c := range channelSetups() {
		if c.Questions != nil {
			for _, q := range c.Questions(Options{Config: &config.Config{}}) {
				keys = append(keys, q.Key)
			}
		}
	}
	return Step{
		Name: "channels", Title: "Channels", Keys: append(keys, "notify"),
		About: "The terminal (hob chat) and the page (hob open) are always there. What else?",
		Next:  nextOfChannels, Apply: applyChannels,
	}
}

func nextOfChannels(_ context.Context, o Options, a Answers) ([]Question, error) {
	if !a.given("channels") {
		q := Question{Key: "channels", Kind: Several, Title: "Which channels shall there be?"}
		var on []string
		for _, c := range channelSetups() {
			q.Options = append(q.Options, Option{c.Name, c.Title})
			if o.channelOn(c.Name) {
				on = append(on, c.Name)
			}
		}
		q.Default = strings.Join(on, ",")
		return []Question{q}, nil
	}
	for _, c := range channelSetups() {
		if c.Questions == nil || !slices.Contains(Items(a["channels"]), c.Name) {
			continue
		}
		qs := slices.DeleteFunc(c.Questions(o), func(q Question) bool { return a.given(q.Key) })
		if len(qs) > 0 {
			return qs, nil
		}
	}
	if a.given("notify") {
		return nil, nil
	}
	q := Question{Key: "notify", Kind: Choice, Title: "Where shall you be told things?", Default: o.Config.Notify.Channel, Options: []Option{
		{"auto", "on the desktop while you are there, else where you asked"},
		{"origin", "where you asked"},
	}}
	for _, name := range Items(a["channels"]) {
		q.Options = append(q.Options, Option{name, "always by " + name})
	}
	if !q.has(q.Default) {
		q.Default = "origin"
	}
	return []Question{q}, nil
}

func (o Options) channelOn(name string) bool {
	s, there := o.Config.Channel(name)
	return there && s.Enabled || !there && name == channel.Name && desktop.Available(o.Secrets.Env)
}

func applyChannels(ctx context.Context, o Options, a Answers) (Done, error) {
	var d Done
	wanted := Items(a["channels"])
	for _, c := range channelSetups() {
		on := slices.Contains(wanted, c.Name)
		if on && c.Apply != nil {
			more, err := c.Apply(ctx, o, a)
			if err != nil {
				return d, err
			}
			d.Secrets, d.Values, d.Said = append(d.Secrets, more.Secrets...), append(d.Values, more.Values...), append(d.Said, more.Said...)
		}
		if on != o.channelOn(c.Name) {
			value := map[bool]string{true: "true", false: "false"}[on]
			d.Values = append(d.Values, config.Value{Key: "channels." + c.Name + ".enabled", Value: value})
		}
	}
	d.Values = append(d.Values, o.changed(config.Value{Key: "notify.channel", Value: a["notify"]})...)
	return d, nil
}

func desktopChannel() channelSetup {
	return channelSetup{Name: channel.Name, Title: "desktop: notifications with buttons"}
}

func webhookChannel() channelSetup {
	const name, address, secret = "webhook", "webhook_url", "webhook_secret"
	return channelSetup{
		Name: name, Title: "webhook: posts to a server of yours",
		Questions: func(o Options) []Question {
			return []Question{
				{Key: address, Kind: Text, Title: "The address of your server", About: "Such as https://example.org/hob.", Default: o.webhookNow("url"), Check: func(s string) error {
					if u, err := url.Parse(s); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
						return errors.New("it is an address such as https://example.org/hob")
					}
					return nil
				}},
				{Key: secret, Kind: Secret, Title: "The secret with which each post is signed", About: "It is not shown. Empty: as it is, or none."},
			}
		},
		Apply: func(ctx context.Context, o Options, a Answers) (Done, error) {
			_, ref, kept, err := o.secretOf(ctx, a[secret], "channel-webhook", o.webhookNow("secret"))
			if err != nil {
				return Done{}, problem(err, false, secret)
			}
			d := Done{Secrets: kept, Values: []config.Value{{Key: "channels.webhook.url", Value: a[address]}}}
			if ref != "" {
				d.Values = append(d.Values, config.Value{Key: "channels.webhook.secret", Value: ref})
			}
			return d, nil
		},
	}
}

// webhookNow is a key of the section there is; a secret in the clear is left out.
func (o Options) webhookNow(key string) string {
	if _, there := o.Config.Channel("webhook"); !there {
		return ""
	}
	v, err := o.Config.Get("channels.webhook." + key)
	if s, ok := v.(string); err == nil && ok && s != "[redacted]" {
		return s
	}
	return ""
}
