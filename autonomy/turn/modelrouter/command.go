package modelrouter

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hob/autonomy/config"
)

// Command answers /model in a conversation with an agent. If name is "", it reports the current
// model and the reason for it. Otherwise it selects the model called name.
func (m *Models) Command(ctx context.Context, session, agent, name string) (string, error) {
	a := m.Of(agent)
	switch name {
	case "":
		return m.reportModel(ctx, a, session)
	case "auto", "default":
		if err := a.Pin(ctx, session, ""); err != nil {
			return "", err
		}
		_, reason, err := a.Default(ctx)
		if err != nil {
			return "", err
		}
		standing, _ := a.Describe()
		return fmt.Sprintf("This conversation uses %s again (%s).", standing, reason), nil
	}
	if err := a.Pin(ctx, session, name); err != nil {
		return "", fmt.Errorf("%w. Available models: %s", err, strings.Join(m.knownNames(), ", "))
	}
	return fmt.Sprintf("From your next message on, %s answers in this conversation. Go back with /model auto.", name), nil
}

func (m *Models) reportModel(ctx context.Context, a *AgentModels, session string) (string, error) {
	pinned, err := m.pins.Of(ctx, session)
	if err != nil {
		return "", err
	}
	_, reason, err := a.Default(ctx)
	if err != nil {
		return "", err
	}
	standing, _ := a.Describe()
	var b strings.Builder
	if pinned != "" {
		fmt.Fprintf(&b, "%s answers in this conversation, because you chose it. The default model is %s (%s).\n", pinned, standing, reason)
	} else {
		fmt.Fprintf(&b, "This conversation uses %s (%s).\n", standing, reason)
	}
	if small := a.small; small != "" && pinned == "" {
		fmt.Fprintf(&b, "Short, simple messages go to %s.\n", small)
	}
	if len(a.fallback) > 0 {
		fmt.Fprintf(&b, "Fallback: %s.\n", strings.Join(a.fallback, ", then "))
	}
	fmt.Fprintf(&b, "Available models: %s.\nChoose one for this conversation with /model NAME; go back with /model auto.", strings.Join(m.knownNames(), ", "))
	return b.String(), nil
}

// knownNames lists the names that /model accepts in this configuration.
func (m *Models) knownNames() []string {
	var out []string
	add := func(name string) {
		if name != "" && name != "auto" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	c := m.o.Config
	add(c.Agent.Model)
	for _, name := range slices.Concat(config.FallbackModels(c.Agent.Fallback), []string{c.Agent.SmallModel}) {
		add(name)
	}
	for _, p := range c.Providers {
		name := p.Name
		if p.Model != "" {
			name += "/" + p.Model
		}
		add(name)
	}
	for _, name := range m.o.Source.Found() {
		add(name)
	}
	standing, _ := m.Describe()
	add(standing)
	add(builtIn)
	return out
}
