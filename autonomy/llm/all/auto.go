package all

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"hob/autonomy/llm"
	"hob/autonomy/llm/offline"
	"hob/autonomy/llm/openai"
	"hob/channels"
	"hob/watchers"
)

// Provider is one [providers.NAME] section.
type Provider struct {
	Name      string
	Kind      string
	BaseURL   string
	Model     string
	MaxTokens int
	Context   int
	Whole     bool          // see llm.ModelOptions
	Stall     time.Duration // see llm.ModelOptions
	// Key resolves the key. It is nil if the section has none. It is called only if the provider
	// may be chosen.
	Key func() (string, error)
	// The following fields are for external agents; see acp.Options.
	Preset, Command, Dir, Mode, Auth string
	Args, Env                        []string
}

// AutoOptions lists the possible sources of a model.
type AutoOptions struct {
	Configured []Provider // in file order
	// Env reads an environment variable, usually os.Getenv. Nil reads none.
	Env func(string) string
	// Probe enables queries to the local servers. A query takes less than 1 ms if no server
	// listens, and at most openai.ProbeTimeout if another service listens. At startup, call
	// DetectModel without Probe; if it returns the built-in brain, call it again with Probe in the
	// background and replace the model.
	Probe bool
	// Servers lists the servers to probe; nil means LocalServers().
	Servers []Server
	// Name is the assistant's name, for the built-in brain.
	Name string
	// Setup holds present values for the built-in brain; see offline.Options.
	Setup map[string]string
	// Channels and Watchers list the kinds that the built-in brain recognizes.
	Channels []channels.Driver
	Watchers []watchers.Description
	HTTP     *http.Client // client for the models; nil means new clients
	// Agents manages the external agents. If it is nil, they can be inspected but not used.
	Agents *Agents
}

// Server is a model server that may run on this machine.
type Server = llm.LocalServer

// LocalServers lists the default addresses of local model servers, in order of preference.
func LocalServers() (out []Server) {
	for _, d := range Drivers() {
		out = append(out, d.Describe().Local...)
	}
	return out
}

// DetectModel returns the model for model = "auto": the first configured provider whose key
// resolves, otherwise the provider of the first key in the environment, otherwise (with Probe) the
// first local server that has a model, otherwise the built-in brain. reason explains the choice; it
// never contains a key. An error means that a section is invalid, not that no model was found.
func DetectModel(ctx context.Context, o AutoOptions) (m llm.Model, reason string, err error) {
	var skipped []string
	for i, p := range o.Configured {
		if p.Kind == Acting && i > 0 { // an external agent costs money and acts, so it is never used only because another provider failed
			skipped = append(skipped, fmt.Sprintf("[providers.%s] is an external agent, which is used automatically only if it is the first section", p.Name))
			continue
		}
		m, why, err := o.configuredModel(p, "")
		if err != nil {
			return nil, "", err
		}
		if m != nil {
			return m, fmt.Sprintf("[providers.%s] is configured", p.Name), nil
		}
		skipped = append(skipped, why)
	}
	for _, s := range Services() {
		name, key := o.serviceKey(s)
		if key == "" {
			continue
		}
		m, err := New(s.Kind, llm.ModelOptions{Provider: s.Name, BaseURL: s.BaseURL, APIKey: key, HTTP: o.HTTP})
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", name, err)
		}
		return m, formatReason(name+" is set", skipped), nil
	}
	if o.Probe {
		m, s, err := o.probeServers(ctx)
		if err != nil {
			return nil, "", err
		}
		if m != nil {
			return m, formatReason(fmt.Sprintf("a model server (%s) answers at %s", s.Name, s.BaseURL), skipped), nil
		}
		skipped = append(skipped, "no local model server answers")
	}
	return o.BuiltIn(), formatReason("no provider is configured and the environment contains no key", skipped), nil
}

// ResolveModel returns the model for a name in the configuration: "offline", "provider" or
// "provider/model". provider is a configured section, a well-known provider whose key is in the
// environment (anthropic, openai, openrouter, gemini), or a local server (ollama, lmstudio,
// llamacpp, vllm).
func ResolveModel(name string, o AutoOptions) (llm.Model, error) {
	provider, model, _ := strings.Cut(name, "/")
	if name == llm.Offline {
		return o.BuiltIn(), nil
	}
	for _, p := range o.Configured {
		if p.Name != provider {
			continue
		}
		m, why, err := o.configuredModel(p, model)
		if err == nil && m == nil {
			err = fmt.Errorf("model %q: %s; run hob setup", name, why)
		}
		return m, err
	}
	for _, s := range Services() {
		if s.Name != provider {
			continue
		}
		if _, key := o.serviceKey(s); key != "" {
			return New(s.Kind, llm.ModelOptions{Provider: s.Name, BaseURL: s.BaseURL, APIKey: key, Model: model, HTTP: o.HTTP})
		}
		return nil, fmt.Errorf("model %q: [providers.%s] does not exist and %s is not set; run hob setup", name, provider, s.Env[0])
	}
	for _, s := range o.probeList() {
		if s.Name == provider {
			return New(openai.Kind, llm.ModelOptions{Provider: s.Name, BaseURL: s.BaseURL, Model: model, HTTP: o.HTTP})
		}
	}
	return nil, fmt.Errorf("model %q: [providers.%s] does not exist; use \"auto\", \"offline\" or \"provider/model\"", name, provider)
}

// configuredModel creates the model for a section. If the model is nil, the string explains why the
// section is skipped.
func (o AutoOptions) configuredModel(p Provider, model string) (llm.Model, string, error) {
	opts := llm.ModelOptions{
		Provider: p.Name, BaseURL: p.BaseURL, Model: model,
		MaxTokens: p.MaxTokens, Context: p.Context, Whole: p.Whole, Stall: p.Stall, HTTP: o.HTTP,
	}
	if model == "" {
		opts.Model = p.Model
	}
	if p.Kind == Acting {
		m, err := o.Agents.agentModel(p, opts.Model)
		return m, "", err
	}
	if p.Key != nil {
		key, err := p.Key()
		if err != nil {
			return nil, fmt.Sprintf("the key of [providers.%s] cannot be read (%v)", p.Name, err), nil
		}
		opts.APIKey = key
	}
	if opts.APIKey == "" && (p.Key != nil || p.BaseURL == "") {
		return nil, fmt.Sprintf("[providers.%s] has no key", p.Name), nil
	}
	m, err := New(p.Kind, opts)
	return m, "", err
}

// serviceKey returns the key of a service and the name of the variable that contains it, or "" if
// no variable does.
func (o AutoOptions) serviceKey(s KnownService) (name, key string) {
	for _, name := range s.Env {
		if key := o.getEnv(name); key != "" {
			return name, key
		}
	}
	return "", ""
}

func (o AutoOptions) getEnv(name string) string {
	if o.Env == nil {
		return ""
	}
	return strings.TrimSpace(o.Env(name))
}

func (o AutoOptions) probeList() []Server {
	if o.Servers != nil {
		return o.Servers
	}
	return LocalServers()
}

// BuiltIn returns the built-in brain.
func (o AutoOptions) BuiltIn() *offline.Model {
	return offline.New(offline.Options{Name: o.Name, Channels: channels.Descriptions(o.Channels), Watchers: o.Watchers, Setup: o.Setup})
}

// probeServers queries all local servers concurrently. It returns the first one, in list order,
// that has a model.
func (o AutoOptions) probeServers(ctx context.Context) (llm.Model, Server, error) {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // runs before wg.Wait and ends the remaining probes
	servers := o.probeList()
	found := make([]chan string, len(servers))
	for i, s := range servers {
		found[i] = make(chan string, 1)
		wg.Go(func() {
			names, err := openai.Probe(ctx, s.BaseURL)
			if err != nil { // the server is not running or is not a model server
				names = nil
			}
			found[i] <- openai.ChatModel(names)
		})
	}
	for i, s := range servers {
		if name := <-found[i]; name != "" {
			m, err := New(openai.Kind, llm.ModelOptions{Provider: s.Name, BaseURL: s.BaseURL, Model: name, HTTP: o.HTTP})
			return m, s, err
		}
	}
	return nil, Server{}, nil
}

func formatReason(why string, skipped []string) string {
	if len(skipped) == 0 {
		return why
	}
	return why + "; " + strings.Join(skipped, "; ")
}
