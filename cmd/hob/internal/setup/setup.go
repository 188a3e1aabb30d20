// Package setup asks the owner what Hob needs to be clever: which model, its
// key, the name of the assistant, the time zone and an account for mail and
// calendars. It looks whether a key works
// before it keeps it, puts it into the keychain (or, where there is none, into a
// private file) and writes a reference to it into the configuration.
//
// With answers from a file it asks nothing. The command `hob setup` calls it.
package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/autonomy/config"
	"hob/autonomy/llm"
	llmall "hob/autonomy/llm/all"
	"hob/cmd/hob/internal/account"
	"hob/platform/system"
)

// Asker puts questions to the owner. Its errors end the set-up.
type Asker interface {
	// Ask returns a line, def when it is empty.
	Ask(question, def string) (string, error)
	// Secret is Ask without showing what is typed.
	Secret(question string) (string, error)
	// Choose returns the index of one of the options.
	Choose(question string, options []string) (int, error)
}

// Options of Run.
type Options struct {
	Paths   system.Paths
	Config  *config.Config
	Secrets system.Secrets
	Out     io.Writer
	HTTP    *http.Client // for model servers; nil means one of its own
	// DNS finds the servers of a mail address that no table knows; nil: nobody does.
	DNS account.Resolver
	// FindTemplate looks whether there is a template of a name; nil: there is none.
	FindTemplate func(name string) error
}

// provider is one way to a model that the wizard offers.
type provider struct {
	name, kind, baseURL, title string
}

func providers() []provider {
	return []provider{
		{"anthropic", "anthropic", "", "Anthropic, with a key"},
		{"openai", "openai", "", "OpenAI, with a key"},
		{"gemini", "gemini", "", "Google Gemini, with a key"},
		{"openrouter", "openai", "https://openrouter.ai/api/v1", "OpenRouter, with a key"},
		{"server", "openai", "", "another server with an OpenAI-style API (Ollama, LM Studio, llama.cpp, vLLM, ...)"},
	}
}

// Run asks everything and writes the answers at once.
func Run(ctx context.Context, o Options, ask Asker) error {
	values, err := o.brain(ctx, ask)
	if err != nil {
		return err
	}
	name, err := ask.Ask("What shall it be called?", o.Config.Agent.Name)
	if err != nil {
		return err
	}
	zone, err := o.zone(ask)
	if err != nil {
		return err
	}
	if name != o.Config.Agent.Name {
		values = append(values, config.Value{Key: "agent.name", Value: name})
	}
	if zone != o.Config.Agent.Timezone {
		values = append(values, config.Value{Key: "agent.timezone", Value: zone})
	}
	more, err := o.account(ctx, ask)
	if err != nil {
		return err
	}
	return o.write(append(values, more...))
}

func (o Options) write(values []config.Value) error {
	if err := o.Paths.Ensure(); err != nil {
		return err
	}
	changes, err := config.SetAll(o.Paths.ConfigFile(), values)
	if err != nil {
		return err
	}
	for _, c := range changes {
		fmt.Fprintf(o.Out, "%s = %s\n", c.Key, c.New)
	}
	fmt.Fprintln(o.Out, "The set-up is done. Talk with it: hob chat")
	return nil
}

func (o Options) zone(ask Asker) (string, error) {
	def := o.Config.Agent.Timezone
	question := "Which time zone do you live in?"
	if def == "Local" {
		if n, err := system.LocalZone(); err == nil {
			question += " (this machine's is " + n + ")"
		}
	}
	for {
		z, err := ask.Ask(question, def)
		if err != nil {
			return "", err
		}
		if _, err := system.Zone(z); err != nil {
			fmt.Fprintln(o.Out, err)
			continue
		}
		return z, nil
	}
}

// brain lets the owner choose a model and returns the keys to set.
func (o Options) brain(ctx context.Context, ask Asker) ([]config.Value, error) {
	found, why, err := llmall.Auto(ctx, llmall.AutoOptions{Env: o.Secrets.Env, Probe: true, HTTP: o.HTTP})
	if err != nil {
		return nil, err
	}
	options := []string{fmt.Sprintf("let it choose by itself; now that is %s (%s)", found.Info().Name(), why)}
	for _, p := range providers() {
		options = append(options, p.title)
	}
	options = append(options, "the built-in brain alone: plain English, no model")
	n, err := ask.Choose("Which brain shall it think with?", options)
	switch {
	case err != nil:
		return nil, err
	case n == 0:
		return []config.Value{{Key: "agent.model", Value: "auto"}}, nil
	case n == len(options)-1:
		return []config.Value{{Key: "agent.model", Value: "offline"}}, nil
	}
	return o.connect(ctx, ask, providers()[n-1])
}

// askWait bounds a model server's answer.
const askWait = 10 * time.Second

// connect asks for address and key until the server lists its models.
func (o Options) connect(ctx context.Context, ask Asker, p provider) ([]config.Value, error) {
	for {
		if p.name == "server" {
			var err error
			if p.baseURL, err = ask.Ask("Its address", "http://127.0.0.1:11434/v1"); err != nil {
				return nil, err
			}
		}
		key, err := ask.Secret("The key (it is not shown; empty when it needs none)")
		if err != nil {
			return nil, err
		}
		models, err := o.models(ctx, p, key)
		if err == nil {
			return o.keep(ctx, ask, p, key, models)
		}
		fmt.Fprintf(o.Out, "That does not work: %v\n", err)
		n, err := ask.Choose("What now?", []string{"try again", "keep it as it is", "leave the set-up"})
		switch {
		case err != nil:
			return nil, err
		case n == 1:
			return o.keep(ctx, ask, p, key, nil)
		case n == 2:
			return nil, errors.New("the set-up was left; nothing was changed")
		}
	}
}

// models asks the server which models it has; it costs no tokens.
func (o Options) models(ctx context.Context, p provider, key string) ([]string, error) {
	m, err := llmall.New(p.kind, llmall.Options{Provider: p.name, BaseURL: p.baseURL, APIKey: key, HTTP: o.HTTP})
	if err != nil {
		return nil, err
	}
	l, ok := m.(llmall.Lister)
	if !ok {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	models, err := l.Models(ctx)
	if llm.KindOf(err) == llm.NotFound { // it answers, and has no such list
		return nil, nil
	}
	return models, err
}

// keep stores the key and names the provider in the configuration.
func (o Options) keep(ctx context.Context, ask Asker, p provider, key string, models []string) ([]config.Value, error) {
	model, err := o.choose(ask, models)
	if err != nil {
		return nil, err
	}
	section := "providers." + p.name
	values := []config.Value{{Key: section + ".kind", Value: p.kind}}
	if p.baseURL != "" {
		values = append(values, config.Value{Key: section + ".base_url", Value: p.baseURL})
	}
	if key != "" {
		ref, err := o.store(ctx, p.name, key)
		if err != nil {
			return nil, err
		}
		values = append(values, config.Value{Key: section + ".api_key", Value: ref})
	}
	if model != "" {
		values = append(values, config.Value{Key: section + ".model", Value: model}, config.Value{Key: "agent.model", Value: p.name + "/" + model})
	} else {
		values = append(values, config.Value{Key: "agent.model", Value: "auto"})
	}
	if (llm.Wire{BaseURL: p.baseURL}).Local() { // it costs nothing
		return values, nil
	}
	usd, err := o.dailyCap(ask)
	if err != nil || usd == "" {
		return values, err
	}
	return append(values, config.Value{Key: "budget.daily_usd", Value: usd}), nil
}

// dailyCap asks what the model may cost; "" when it is to stay as it is.
func (o Options) dailyCap(ask Asker) (string, error) {
	def := strconv.FormatFloat(o.Config.Budget.DailyUSD, 'f', -1, 64)
	for {
		s, err := ask.Ask("How many US dollars may it cost a day at most? (0 is no cap)", def)
		if err != nil || s == def {
			return "", err
		}
		s = strings.TrimPrefix(strings.TrimSpace(s), "$")
		if usd, err := strconv.ParseFloat(s, 64); err == nil && usd >= 0 && usd <= 1_000_000 {
			return strconv.FormatFloat(usd, 'f', -1, 64), nil
		}
		fmt.Fprintln(o.Out, "That is no amount; write it as 2 or 0.50.")
	}
}

// shown is how many models are listed to choose from.
const shown = 20

func (o Options) choose(ask Asker, models []string) (string, error) {
	if len(models) == 0 {
		return ask.Ask("Which model? (empty: the server's own choice)", "")
	}
	if len(models) == 1 {
		return models[0], nil
	}
	slices.Sort(models)
	if len(models) > shown {
		fmt.Fprintf(o.Out, "It has %d models, among them %s.\n", len(models), strings.Join(models[:shown], ", "))
		return ask.Ask("Which model? (empty: Hob's own choice)", "")
	}
	n, err := ask.Choose("Which model?", models)
	if err != nil {
		return "", err
	}
	return models[n], nil
}

// store puts a key into the keychain, or into a private file.
func (o Options) store(ctx context.Context, name, key string) (string, error) {
	err := o.Secrets.Store(ctx, name, system.Secret(key))
	if err == nil {
		return "keychain:" + name, nil
	}
	path := filepath.Join(o.Paths.Home, "secrets", name)
	fmt.Fprintf(o.Out, "The keychain cannot be used (%v); the key goes into %s, which only you can read.\n", err, path)
	if err := system.WriteFile(path, []byte(key+"\n")); err != nil {
		return "", err
	}
	return "file:" + path, nil
}
