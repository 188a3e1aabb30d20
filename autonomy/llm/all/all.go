// Package all lists the drivers for language models and finds the model that the configuration
// selects. It contains no driver code. The daemon, the setup wizard and the doctor call it.
package all

import (
	"context"
	"fmt"
	"strings"

	"hob/autonomy/llm"
	"hob/autonomy/llm/anthropic"
	"hob/autonomy/llm/gemini"
	"hob/autonomy/llm/openai"
)

// Lister is a model whose server can list its models. All HTTP models implement it.
type Lister interface {
	Models(ctx context.Context) ([]string, error)
}

// Drivers returns one driver for each kind of HTTP model, in the order in which DetectModel looks
// for their keys.
func Drivers() []llm.Driver {
	return []llm.Driver{
		anthropic.Driver{},
		openai.Driver{},
		gemini.Driver{},
	}
}

// Kinds lists the values that kind accepts in a [providers] section.
func Kinds() (out []string) {
	for _, d := range Drivers() {
		out = append(out, d.Describe().Kind)
	}
	return append(out, Acting)
}

// New creates a model of the given kind; see llm.Driver. External agents are created by Agents
// instead.
func New(kind string, o llm.ModelOptions) (llm.Model, error) {
	for _, d := range Drivers() {
		if d.Describe().Kind == kind {
			return d.New(o)
		}
	}
	return nil, fmt.Errorf("kind %q of [providers.%s] is not one of %s", kind, o.Provider, strings.Join(Kinds(), ", "))
}

// KnownService is a well-known service and its kind.
type KnownService struct {
	llm.Service
	Kind string
}

// Services lists the well-known services.
func Services() (out []KnownService) {
	for _, d := range Drivers() {
		about := d.Describe()
		for _, s := range about.Services {
			out = append(out, KnownService{s, about.Kind})
		}
	}
	return out
}

// Compatible returns the kind of provider for servers that speak another provider's protocol, and
// its title for setup.
func Compatible() (kind, title string) {
	for _, d := range Drivers() {
		if about := d.Describe(); about.Compatible != "" {
			return about.Kind, about.Compatible
		}
	}
	return "", ""
}

// ProbeServer lists the models of a server of the kind that Compatible returns, without a key. It
// fails immediately if no such server listens at the address.
func ProbeServer(ctx context.Context, baseURL string) ([]string, error) {
	return openai.Probe(ctx, baseURL)
}

// ChatModel returns the first chat model in a list, or "" if there is none.
func ChatModel(models []string) string { return openai.ChatModel(models) }

// describeKind returns the description of a kind. It is empty if the kind is unknown.
func describeKind(kind string) llm.Description {
	for _, d := range Drivers() {
		if about := d.Describe(); about.Kind == kind {
			return about
		}
	}
	return llm.Description{}
}
