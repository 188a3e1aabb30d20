package app

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hob/autonomy"
	llmall "hob/autonomy/llm/all"
)

// modelCommand answers /model: which model is in force here and why, or the
// choice of another one.
func (d *App) modelCommand(ctx context.Context, session, agent, name string) (string, error) {
	b := d.brain
	if own := d.brains[agent]; own != nil {
		b = own
	}
	switch name {
	case "":
		return d.modelReport(ctx, b, session)
	case "auto", "default":
		if err := b.chooser.Pin(ctx, session, ""); err != nil {
			return "", err
		}
		_, reason, err := b.defaultModel(ctx)
		if err != nil {
			return "", err
		}
		standing, _ := b.describeModel()
		return fmt.Sprintf("This conversation uses %s again (%s).", standing, reason), nil
	}
	if err := b.chooser.Pin(ctx, session, name); err != nil {
		return "", fmt.Errorf("%w. Available models: %s", err, strings.Join(d.knownModelNames(), ", "))
	}
	return fmt.Sprintf("%s answers in this conversation from your next message. Go back with /model auto.", name), nil
}

func (d *App) modelReport(ctx context.Context, own *brain, session string) (string, error) {
	pinned, err := d.pins.Of(ctx, session)
	if err != nil {
		return "", err
	}
	_, reason, err := own.defaultModel(ctx)
	if err != nil {
		return "", err
	}
	standing, _ := own.describeModel()
	var b strings.Builder
	if pinned != "" {
		fmt.Fprintf(&b, "%s answers in this conversation, because you chose it. Elsewhere it is %s (%s).\n", pinned, standing, reason)
	} else {
		fmt.Fprintf(&b, "%s answers here (%s).\n", standing, reason)
	}
	if small := own.o.Small; small != "" && pinned == "" {
		fmt.Fprintf(&b, "Short simple messages go to %s.\n", small)
	}
	if len(own.o.Fallback) > 0 {
		fmt.Fprintf(&b, "Fallback: %s.\n", strings.Join(own.o.Fallback, ", then "))
	}
	fmt.Fprintf(&b, "Available models: %s.\nChoose one for this conversation with /model NAME, go back with /model auto.", strings.Join(d.knownModelNames(), ", "))
	return b.String(), nil
}

// knownModelNames lists the names that /model takes without more.
func (d *App) knownModelNames() []string {
	var out []string
	add := func(name string) {
		if name != "" && name != "auto" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	c := d.opt.Config
	add(c.Agent.Model)
	for _, name := range slices.Concat(c.Agent.Fallback, []string{c.Agent.SmallModel}) {
		add(name)
	}
	for _, p := range c.Providers {
		name := p.Name
		if p.Model != "" {
			name += "/" + p.Model
		}
		add(name)
	}
	for _, name := range llmall.FromEnvironment(d.models.opt.Env) {
		add(name)
	}
	standing, _ := d.brain.describeModel()
	add(standing)
	add("offline")
	return out
}

// turnCost returns, for `hob why`, the model chosen for a turn and its cost.
func (d *App) turnCost(ctx context.Context, event string) (autonomy.Spent, error) {
	var s autonomy.Spent
	var err error
	if s.Model, s.Reason, _, err = d.brain.chooser.Lookup(ctx, event); err != nil {
		return s, err
	}
	calls, cost, err := d.books.Of(ctx, event)
	s.Calls = calls
	if cost != nil {
		s.CostUSD, s.Cost = new(cost.USD()), cost.String()
	}
	return s, err
}
