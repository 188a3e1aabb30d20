package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"hob/autonomy/config"
	"hob/autonomy/llm"
	llmall "hob/autonomy/llm/all"
)

// Answers that are not the name of a known provider.
const (
	byItself = "auto"
	builtIn  = llm.Offline
	asItIs   = "keep" // keep a model that another section sets, or an agent
	other    = "server"
)

// brainStep returns the step that asks for the model and tests it.
func brainStep() Step {
	return Step{
		Name: "brain", Title: "Brain",
		About: "The model that Hob uses. Setup tests a key and stores it only in the keychain or an encrypted file.",
		Keys:  []string{"brain", "server", "key", "model", "daily_usd"},
		Next:  nextOfBrain, Apply: applyBrain,
	}
}

func nextOfBrain(ctx context.Context, o Options, a Answers) ([]Question, error) {
	switch {
	case !a.isGiven("brain"):
		q, err := o.askBrain(ctx)
		return []Question{q}, err
	case a["brain"] == byItself, a["brain"] == builtIn, a["brain"] == asItIs, a.isGiven("model"):
		return nil, nil
	}
	if s, ok := o.findLocalServer(a["brain"]); ok {
		models, err := llmall.ProbeServer(ctx, s.BaseURL)
		if err != nil {
			return nil, newProblem(fmt.Errorf("%s does not answer at %s: %w", s.Name, s.BaseURL, err), false, "brain")
		}
		return []Question{o.askModel(models, llmall.ChatModel(models))}, nil
	}
	p, ok := o.chosenProvider(a)
	if !ok {
		return nil, newProblem(errors.New(unknownAnswer(a["brain"], o.brainChoices())), false, "brain")
	}
	if qs := o.askAccess(p, a); len(qs) > 0 {
		return qs, nil
	}
	return o.askOfServer(ctx, p, a)
}

// brainChoices returns the possible answers. They include local servers that are not running now.
func (o Options) brainChoices() []string {
	out := []string{byItself, builtIn, asItIs}
	for _, p := range knownProviders() {
		out = append(out, p.name)
	}
	for _, s := range o.localServers() {
		out = append(out, s.Name)
	}
	return out
}

func (o Options) localServers() []llmall.Server {
	if o.Servers != nil {
		return o.Servers
	}
	return llmall.LocalServers()
}

func (o Options) findLocalServer(name string) (llmall.Server, bool) {
	i := slices.IndexFunc(o.localServers(), func(s llmall.Server) bool { return s.Name == name })
	if i < 0 {
		return llmall.Server{}, false
	}
	return o.localServers()[i], true
}

// askBrain returns the question for the model. It looks for model servers on this machine and for
// keys.
func (o Options) askBrain(ctx context.Context) (Question, error) {
	q := Question{Key: "brain", Kind: Choice, Title: "Which model should Hob use?", Default: byItself, Other: true}
	m, why, err := llmall.DetectModel(ctx, llmall.AutoOptions{Env: o.Secrets.Env, Probe: true, HTTP: o.HTTP, Servers: o.localServers()})
	if err != nil {
		return q, err
	}
	q.About = "Hob would choose " + m.Info().Name() + ", because " + why + "."
	q.Options = append(q.Options, Option{byItself, "choose automatically"})
	for i, models := range o.probeServers(ctx) {
		if len(models) == 0 {
			continue
		}
		s, which := o.localServers()[i], models[0]
		if len(models) > 1 {
			which = fmt.Sprintf("%d models", len(models))
		}
		q.Options = append(q.Options, Option{s.Name, fmt.Sprintf("%s on this machine: %s", cmp.Or(s.Title, s.Name), which)})
	}
	for _, p := range knownProviders() {
		title := p.title
		if v := o.envKey(p); v != "" {
			title = strings.TrimSuffix(title, "a key") + "the key in " + v
		}
		if s, ok := o.Config.Provider(p.name); ok && p.name != other && s.BaseURL != "" {
			title += ", at " + s.BaseURL
		}
		q.Options = append(q.Options, Option{p.name, title})
	}
	q.Options = append(q.Options, Option{builtIn, "only the built-in brain: simple English, no model"})
	switch now := o.Config.Agent.Model; now {
	case byItself, builtIn:
		q.Default = now
	default:
		q.Default, q.Options = asItIs, append([]Option{{asItIs, "no change: " + now}}, q.Options...)
	}
	return q, nil
}

// probeServers requests the lists of models from the local servers in parallel.
func (o Options) probeServers(ctx context.Context) [][]string {
	out := make([][]string, len(o.localServers()))
	var wg sync.WaitGroup
	for i, s := range o.localServers() {
		wg.Go(func() { out[i], _ = llmall.ProbeServer(ctx, s.BaseURL) }) // ignore a server that does not respond
	}
	wg.Wait()
	return out
}

func (o Options) envKey(p provider) string {
	for _, name := range p.env {
		if strings.TrimSpace(o.Secrets.Env(name)) != "" {
			return name
		}
	}
	return ""
}

// askAccess returns the questions for the address and the key.
func (o Options) askAccess(p provider, a Answers) []Question {
	if p.name == other && !a.isGiven("server") {
		was := "http://127.0.0.1:11434/v1"
		if s, ok := o.Config.Provider(other); ok && s.BaseURL != "" {
			was = s.BaseURL
		}
		return []Question{{Key: "server", Kind: Text, Title: "What is the address of the server?", Default: was}} // ask for the address first, because the stored key depends on it
	}
	if a.isGiven("key") {
		return nil
	}
	q := Question{Key: "key", Kind: Secret, Title: "What is the API key?", About: "Your input is not shown."}
	switch ref := o.keyNow(p); {
	case ref != "":
		q.About += " Leave it empty to keep the stored one."
	case p.name == other:
		q.About += " Leave it empty if none is needed."
	default:
		q.Check = func(s string) error {
			if s == "" {
				return errors.New("key is empty; get one on the provider's website")
			}
			return nil
		}
	}
	return []Question{q}
}

// keyNow returns the reference to the stored key, or "" if the key is for a different server.
func (o Options) keyNow(p provider) string {
	if s, ok := o.Config.Provider(p.name); ok && s.APIKey != "" && (p.name != other || p.baseURL == s.BaseURL) {
		return s.APIKey
	}
	if v := o.envKey(p); v != "" {
		return "env:" + v
	}
	return ""
}

// askOfServer returns the questions for the server's model and the spending limit. It calls the
// server with the key, so that a wrong key is detected here.
func (o Options) askOfServer(ctx context.Context, p provider, a Answers) ([]Question, error) {
	key, _, _, err := o.secretOf(ctx, a["key"], p.name, o.keyNow(p))
	if err != nil {
		return nil, newProblem(err, false, "key")
	}
	var models []string
	if a[untested] == "" {
		o.showBusy("Loading the list of models ...")
		if models, err = o.listModels(ctx, p, key); err != nil {
			return nil, newProblem(err, true, "server", "key")
		}
	}
	m, err := llmall.New(p.kind, llm.ModelOptions{Provider: p.name, BaseURL: p.baseURL, APIKey: key, HTTP: o.HTTP})
	if err != nil {
		return nil, newProblem(err, false, "server", "key")
	}
	usual := m.Info().Model
	if !slices.Contains(models, usual) {
		usual = llmall.ChatModel(models)
	}
	if was, ok := o.Config.Provider(p.name); ok && was.Model != "" {
		usual = was.Model
	}
	qs := []Question{o.askModel(models, usual)}
	if !(llm.Endpoint{BaseURL: p.baseURL}).Local() { // a local model is free
		qs = append(qs, Question{
			Key: "daily_usd", Kind: Text, Title: "What is the most that the model may cost per day, in US dollars?", About: "0 means no limit.",
			Default: strconv.FormatFloat(o.Config.Budget.DailyUSD, 'f', -1, 64), Check: func(s string) error { _, err := parseAmount(s); return err },
		})
	}
	return qs, nil
}

func (o Options) askModel(models []string, usual string) Question {
	q := Question{Key: "model", Kind: Text, Title: "Which model?", Default: usual}
	if len(models) == 0 {
		q.About = "Leave it empty for the server's default."
		return q
	}
	models = slices.Sorted(slices.Values(models))
	q.Kind, q.Other = Choice, true
	for _, m := range models {
		q.Options = append(q.Options, Option{m, m})
	}
	if !slices.Contains(models, usual) {
		q.Default = models[0]
	}
	return q
}

func parseAmount(s string) (float64, error) {
	usd, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(s), "$"), 64)
	if err != nil || !(usd >= 0 && usd <= 1_000_000) {
		return 0, fmt.Errorf("%q is not an amount; enter a number such as 2 or 0.50", s)
	}
	return usd, nil
}

func applyBrain(ctx context.Context, o Options, a Answers) (StepResult, error) {
	name := a["brain"]
	if name == asItIs {
		return StepResult{}, nil
	}
	if name == byItself || name == builtIn {
		return StepResult{Values: []config.Value{{Key: "agent.model", Value: name}}}, nil
	}
	if _, ok := o.findLocalServer(name); ok {
		return StepResult{Values: []config.Value{{Key: "agent.model", Value: name + "/" + a["model"]}}}, nil
	}
	p, _ := o.chosenProvider(a)
	key, ref, kept, err := o.secretOf(ctx, a["key"], p.name, o.keyNow(p))
	if err != nil {
		return StepResult{}, newProblem(err, false, "key")
	}
	d := StepResult{Secrets: kept}
	if a[untested] == "" {
		o.showBusy("Testing the model ...")
		if err := o.tryModel(ctx, p, key, a["model"]); err != nil {
			return d, newProblem(err, true, "key", "model", "server")
		}
		d.Said = append(d.Said, "The model answers.")
	}
	d.Values = o.valuesOf(p, ref, a["model"])
	if usd, err := parseAmount(a["daily_usd"]); err == nil && usd != o.Config.Budget.DailyUSD {
		d.Values = append(d.Values, config.Value{Key: "budget.daily_usd", Value: strconv.FormatFloat(usd, 'f', -1, 64)})
	}
	return d, nil
}
