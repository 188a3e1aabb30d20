package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/autonomy/config"
	"hob/channels"
	channelsall "hob/channels/all"
	"hob/platform/host/system"
	"hob/platform/text/settings"
)

// channelSetup describes how one channel is set up, based on its driver's description. The terminal
// and the page need no setup.
type channelSetup struct{ channels.Description }

// channelSetups lists the channels that the user can choose.
func channelSetups() (out []channelSetup) {
	for _, d := range channelsall.Drivers() {
		out = append(out, channelSetup{d.Describe()})
	}
	return out
}

// displayTitle returns the channel's name and its description.
func (c channelSetup) displayTitle() string { return c.Name + ": " + c.Title }

// steps returns what the user must do after the setup.
func (c channelSetup) steps() []string {
	if !c.Pairs {
		return nil
	}
	return []string{"Hob ignores messages on " + c.Name + " until you pair your account: hob channel pair " + c.Name}
}

// settingsEnv returns the part of the configuration that determines which settings apply.
func (o Options) settingsEnv() (e settings.Env) {
	for _, a := range o.Config.Accounts {
		e.Accounts = append(e.Accounts, settings.Option{Value: a.Name, Title: a.Address})
	}
	return e
}

// isShown reports whether a setting applies, given the answers.
func (c channelSetup) isShown(o Options, f settings.Setting, a Answers) bool {
	return f.Shown == nil || f.Shown(o.settingsEnv(), func(key string) string { return a[c.Name+"_"+key] })
}

// questionKey returns the key of the field's question.
func (c channelSetup) questionKey(f settings.Setting) string { return c.Name + "_" + f.Key }

// nextQuestions returns the next questions, up to the first one whose answer determines which
// questions follow.
func (c channelSetup) nextQuestions(o Options, a Answers) (out []Question) {
	for _, f := range c.Settings {
		if f.Unasked || a.isGiven(c.questionKey(f)) || !c.isShown(o, f, a) {
			continue
		}
		out = append(out, c.fieldQuestion(o, f))
		if f.Kind == settings.Choice {
			break
		}
	}
	if len(out) > 0 && c.Intro != "" && out[0].About != "" {
		out[0].About = c.Intro + "\n" + out[0].About
	} else if len(out) > 0 && c.Intro != "" {
		out[0].About = c.Intro
	}
	return out
}

// allQuestions returns the questions for all settings that apply, including questions that setup
// skips.
func (c channelSetup) allQuestions(o Options, a Answers) (out []Question) {
	for _, f := range c.Settings {
		if c.isShown(o, f, a) {
			out = append(out, c.fieldQuestion(o, f))
		}
	}
	return out
}

func (c channelSetup) fieldQuestion(o Options, f settings.Setting) Question {
	now := o.channelNow(c.Name, f.Key)
	q := Question{Key: c.questionKey(f), Kind: Kind(f.Kind), Title: f.Title, About: f.Help, Default: now}
	if q.Default == "" {
		q.Default = f.Default
	}
	if f.Options != nil {
		for _, x := range f.Options(o.settingsEnv()) {
			q.Options = append(q.Options, Option(x))
		}
	}
	missing := errors.New("required")
	switch f.Kind {
	case settings.Secret:
		q.Default = ""
		if now != "" {
			q.About = strings.TrimSpace(q.About + " Leave it empty to keep the current value.")
		}
		q.Check = func(s string) error {
			s = strings.TrimSpace(s)
			switch {
			case s == "" && now == "" && !f.Optional:
				return missing
			case s == "" || system.IsReference(s) || f.Check == nil:
				return nil
			}
			return f.Check(s)
		}
	case settings.Text:
		if f.Optional {
			q.About = strings.TrimSpace(q.About + " Optional.")
		}
		q.Check = func(s string) error {
			switch s = strings.TrimSpace(s); {
			case s == "" && !f.Optional:
				return missing
			case s == "" || f.Check == nil:
				return nil
			case f.List:
				for _, x := range Items(s) {
					if err := f.Check(x); err != nil {
						return err
					}
				}
				return nil
			}
			return f.Check(s)
		}
	}
	return q
}

// applyAnswers returns the changes for the answers.
func (c channelSetup) applyAnswers(ctx context.Context, o Options, a Answers) (d StepResult, err error) {
	secrets := map[string]string{}
	set := func(key, value string) {
		d.Values = append(d.Values, config.Value{Key: "channels." + c.Name + "." + key, Value: value})
	}
	for _, f := range c.Settings {
		v, given := a[c.questionKey(f)]
		if v = strings.TrimSpace(v); !given || !c.isShown(o, f, a) {
			continue
		}
		now := o.channelNow(c.Name, f.Key)
		switch {
		case f.Kind == settings.Secret:
			plain, ref, kept, err := o.secretOf(ctx, v, c.secretName(f), now)
			if v == "" && now != "" {
				err = nil // keep the existing settings; the test shows whether they work
			}
			if err == nil && f.Check != nil && plain != "" && plain != now {
				err = f.Check(plain)
			}
			if err != nil {
				return StepResult{}, newProblem(err, false, c.questionKey(f))
			}
			secrets[f.Key] = plain
			d.Secrets = append(d.Secrets, kept...)
			if ref != "" && (ref != now || len(kept) > 0) {
				set(f.Key, ref)
			}
		case v == now, now == "" && v == f.Default:
		case f.Kind == settings.YesNo, f.Number:
			set(f.Key, v)
		case f.List:
			set(f.Key, formatTOML(Items(v)))
		default:
			set(f.Key, formatTOML(v))
		}
	}
	if c.NextSteps != nil {
		d.Said = c.NextSteps(func(key string) string { return secrets[key] })
	}
	return d, nil
}

// formatTOML formats v as a TOML value. A string is quoted even if it looks like a number.
func formatTOML(v any) string {
	if list, ok := v.([]string); ok && len(list) == 0 {
		return "[]"
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // strings can always be encoded
		return ""
	}
	return strings.TrimSpace(b.String())
}

// secretName returns the name under which a secret of the channel is stored.
func (c channelSetup) secretName(f settings.Setting) string {
	n := 0
	for _, x := range c.Settings {
		if x.Kind == settings.Secret {
			n++
		}
	}
	if n == 1 {
		return SecretName(c.Name, "")
	}
	return SecretName(c.Name, f.Key)
}

// SecretName returns the name of a channel's stored secret. key is empty if the channel has only
// one secret.
func SecretName(name, key string) string {
	if key == "" {
		return "channel-" + name
	}
	return "channel-" + name + "-" + key
}

// commonKeys lists the keys that every section may contain.
func commonKeys() []string { return []string{"mention", "send_delay", "settle", "stream"} }

// splitGiven separates the answers to the channel's own questions from the values of keys that all
// sections have in common. Those values are written without a question.
func (c channelSetup) splitGiven(given map[string]string) (pre Answers, more []config.Value, err error) {
	pre = Answers{}
	var known []string
	for _, f := range c.Settings {
		known = append(known, f.Key)
	}
	for key, v := range given {
		switch {
		case slices.Contains(known, key):
			pre[c.Name+"_"+key] = v
		case slices.Contains(commonKeys(), key):
			more = append(more, config.Value{Key: "channels." + c.Name + "." + key, Value: v})
		default:
			all := append(known, commonKeys()...)
			if near := config.SuggestName(key, all); near != "" {
				return nil, nil, fmt.Errorf("%s: unknown key; did you mean %q?", key, near)
			}
			return nil, nil, fmt.Errorf("%s: unknown key; %s has %s", key, c.Name, strings.Join(all, ", "))
		}
	}
	return pre, more, nil
}

// channelNow returns the current value of a key as an answer. It omits a plain-text secret.
func (o Options) channelNow(name, key string) string {
	if _, there := o.Config.Channel(name); !there {
		return ""
	}
	v, err := o.Config.Get("channels." + name + "." + key)
	if err != nil {
		return ""
	}
	switch v := v.(type) {
	case string:
		if v != "[redacted]" {
			return v
		}
	case bool:
		return fmt.Sprint(v)
	case []any:
		var list []string
		for _, x := range v {
			list = append(list, fmt.Sprint(x))
		}
		return strings.Join(list, ",")
	}
	return ""
}
