package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
	"hob/watchers"
)

type intentIn struct {
	From     string   `json:"from,omitempty" jsonschema:"a person, address, number or account (CHANNEL:ID); me: the user's own messages"`
	Words    []string `json:"words,omitempty" jsonschema:"the message must contain one of these"`
	Channel  string   `json:"channel,omitempty" jsonschema:"only messages of this channel"`
	Watcher  string   `json:"watcher,omitempty" jsonschema:"id or words of a watcher or schedule to wait for instead"`
	Remind   string   `json:"remind,omitempty" jsonschema:"text to show the user"`
	Tell     string   `json:"tell,omitempty" jsonschema:"text to send to that person; needs approval"`
	Do       string   `json:"do,omitempty" jsonschema:"task to carry out"`
	EachTime bool     `json:"each_time,omitempty" jsonschema:"default: only the next time"`
}

// modeAndAction returns what happens when the intent fires. The default is a notification.
func (in intentIn) modeAndAction() (mode watchers.Mode, action string, err error) {
	mode = watchers.Notify
	for _, x := range []struct {
		mode watchers.Mode
		text string
	}{{watchers.Show, in.Remind}, {watchers.Tell, in.Tell}, {watchers.Do, in.Do}} {
		text := strings.TrimSpace(strings.ToValidUTF8(x.text, "\uFFFD"))
		if text == "" {
			continue
		}
		if mode != watchers.Notify {
			return "", "", tools.Errorf(tools.InvalidArguments, "give only one of remind, tell and do")
		}
		mode, action = x.mode, text
	}
	return mode, action, nil
}

func (d Deps) createIntent() tools.Tool {
	f := d.newFamily("intent")
	return tools.New(tools.Def[intentIn]{
		Spec: tools.Spec{
			Name: "create_intent", Category: "watch", Effects: tools.Write, Starts: tools.AnyEffect,
			Description: "Do something the next time, or each time, that a person writes, that certain words occur, or that a watcher fires.",
			Keywords:    "standing intent when hear from tell remind next time someone writes mentions open project once condition trigger",
		},
		Summary: func(in intentIn) string {
			who := cmp.Or(in.From, in.Watcher, strings.Join(in.Words, ", "))
			return fmt.Sprintf("Wait for %s, then: %s", textnorm.Ellipsize(who, 60), textnorm.Ellipsize(cmp.Or(in.Remind, in.Tell, in.Do, "notify you"), 160))
		},
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in intentIn) (tools.Result, error) {
			return d.addIntent(tx, c, in)
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			return f.undoCreate(tx, data)
		},
	})
}

// addIntent stores an intent and describes what it waits for.
func (d Deps) addIntent(tx *store.Tx, c tools.Call, in intentIn) (tools.Result, error) {
	mode, action, err := in.modeAndAction()
	if err != nil {
		return tools.Result{}, err
	}
	config, note, source, err := d.intentConfig(tx, in)
	if err != nil {
		return tools.Result{}, err
	}
	raw, err := json.Marshal(config)
	if err != nil {
		return tools.Result{}, tools.Errorf(tools.InvalidArguments, "the intent cannot be saved: %w", err)
	}
	s, err := d.Manager.CreateTx(tx, watchers.Spec{
		Kind: watchers.KindIntent, Config: raw, Mode: mode, Action: action, Report: c.Report, Agent: c.Agent,
		Provenance: provenance.Worst(callProvenance(c), source), CreatedAt: c.Now,
	})
	if err != nil {
		return tools.Result{}, classifyError(err)
	}
	what := s
	what.Action = ""
	text := "I am waiting for " + d.Manager.Describe(what)
	switch mode {
	case watchers.Show:
		text += " and will then remind you: " + action
	case watchers.Tell:
		text += ". Then, if you approve, I will send the sender: " + action
	case watchers.Do:
		text += " and will then do this: " + action
	case watchers.Notify, watchers.Remind:
		text += " and will then notify you"
	}
	return tools.Result{
		Source: source, Text: strings.TrimRight(text, ".") + "." + note, Data: watcherRow{Spec: s, Description: d.Manager.Describe(s)},
		Undo: tools.NewUndo("stop waiting for "+d.Manager.Describe(what), createUndo{ID: s.ID}),
	}, nil
}

// intentConfig returns the configuration of an intent, a remark for the user, and the provenance of
// its text.
func (d Deps) intentConfig(tx *store.Tx, in intentIn) (config watchers.IntentConfig, note string, source provenance.Source, err error) {
	config = watchers.IntentConfig{
		From: strings.TrimSpace(in.From), Words: in.Words, Channel: strings.ToLower(strings.TrimSpace(in.Channel)), EachTime: in.EachTime,
	}
	source = provenance.Tool
	switch {
	case slices.ContainsFunc([]string{"me", "i", "myself", "the user"}, func(s string) bool { return textnorm.EqualFolded(s, config.From) }):
		config.From, config.Mine = "", true
	case config.From != "":
		config.Accounts, note, err = d.accountsOf(tx, config.From, config.Channel)
	}
	if words := strings.TrimSpace(in.Watcher); words != "" && err == nil {
		var s watchers.Spec
		if s, err = d.newFamily("watcher").findWatcher(tx, words); err != nil {
			schedule, serr := d.newFamily("schedule").findWatcher(tx, words)
			if serr != nil {
				return config, "", source, err
			}
			s, err = schedule, nil
		}
		config.Watcher, config.Title, source = s.ID, s.Title, provenance.Worst(source, s.Provenance)
	}
	return config, note, source, err
}

// accountsOf finds the account of a person among the people who have written. It fails if several
// accounts have the name, because one of them may belong to someone else. note tells the user which
// account counts, or that none is known yet.
func (d Deps) accountsOf(q store.Querier, name, channel string) (accounts []string, note string, err error) {
	if watchers.IsAddress(name) || strings.Contains(name, ":") {
		return nil, "", nil
	}
	var found []watchers.Sender
	if d.Senders != nil {
		if found, err = d.Senders(q); err != nil {
			return nil, "", err
		}
	}
	want := textnorm.FoldedWords(name)
	found = slices.DeleteFunc(found, func(s watchers.Sender) bool {
		have := textnorm.FoldedWords(s.Name)
		return channel != "" && s.Channel != channel || slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(have, w) })
	})
	known := slices.ContainsFunc(d.Manager.Called(q, name), watchers.IsAddress)
	switch {
	case known: // addresses that the user stored are better evidence than a display name
		return nil, "", nil
	case len(found) == 1:
		// Do not show its id: the other person may have chosen it, so it would be untrusted text.
		return []string{found[0].Channel + ":" + found[0].ID}, fmt.Sprintf(" The only account with this name, on %s, counts.", found[0].Channel), nil
	case len(found) > 1:
		var list []string
		for _, s := range found {
			list = append(list, fmt.Sprintf("%s:%s", s.Channel, s.ID))
		}
		return nil, "", tools.Quoting(tools.Errorf(tools.InvalidArguments, "several accounts use the name %q; name one of them: %s", tools.Clean(textnorm.Ellipsize(name, 60)), tools.Clean(strings.Join(list, ", "))), provenance.Outside)
	}
	return nil, fmt.Sprintf(" I do not know an account, address or number of %[1]s yet. Tell me one, for example: %[1]s's email is name@example.org.", textnorm.Ellipsize(name, 60)), nil
}

func (f watcherFamily) listIntents() tools.Tool {
	return f.listTool(tools.Spec{
		Name: "list_intents", Category: "watch", Effects: tools.Read,
		Description: "List the standing intents: what Hob is waiting for.",
		Keywords:    "show intents waiting for next time when hear from",
	})
}

type cancelIntentIn struct {
	Intent string `json:"intent" jsonschema:"id or words"`
}

func (f watcherFamily) cancelIntent() tools.Tool {
	return cancelTool(f, "Cancel a standing intent: delete it.", "delete remove stop waiting intent forget about", func(in cancelIntentIn) string { return in.Intent })
}
