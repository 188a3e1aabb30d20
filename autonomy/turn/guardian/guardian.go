// Package guardian asks a second model whether an untrusted text tries to manipulate its reader. It
// decides nothing: a turn adds a mark to a text that the model calls an attack.
package guardian

import (
	"context"
	_ "embed" // the text
	"fmt"
	"strings"
	"time"

	"hob/autonomy/llm"
	"hob/platform/provenance"
	"hob/platform/text/promptfence"
)

//go:embed guardian.md
var guardianText string

// Limits of a guardian request.
const (
	guardianWait  = 20 * time.Second
	guardianBytes = 12_000 // bytes of a text, its beginning and its end
)

// Checker checks texts with a model. It implements turn.TextChecker and may be called concurrently.
type Checker struct {
	model func(ctx context.Context) (llm.Model, error)
}

// TextChecker is turn.TextChecker.
type TextChecker interface {
	IsHostile(ctx context.Context, who llm.Account, text string) (bool, error)
}

// Open returns the checker of [guard] guardian; nil if none is set. model returns a function that
// returns the model of a name. If the model cannot be created, every check fails, which changes
// nothing.
func Open(name string, model func(name string) func(context.Context) (llm.Model, error)) TextChecker {
	if name == "" || name == "off" {
		return nil
	}
	return New(model(name))
}

// New returns a checker that gets its model from a function at each check.
func New(model func(ctx context.Context) (llm.Model, error)) *Checker { return &Checker{model} }

// IsHostile reports whether the model calls a text an attack. The model sees only the fenced text
// and has no tools. An unclear or late answer is an error. The call counts against the budget of
// who.
func (c *Checker) IsHostile(ctx context.Context, who llm.Account, text string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, guardianWait)
	defer cancel()
	m, err := c.model(ctx)
	if err != nil {
		return false, fmt.Errorf("guardian: %w", err)
	}
	if n := len(text); n > guardianBytes {
		text = strings.ToValidUTF8(text[:guardianBytes/2]+"\n[...]\n"+text[n-guardianBytes/2:], "")
	}
	who.Purpose = llm.ForGuardian
	resp, err := llm.Collect(m.Stream(ctx, llm.Request{
		System: strings.TrimSpace(guardianText), MaxTokens: 16, NoTools: true, Account: who,
		Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: promptfence.Wrap(promptfence.New(text), text, "", ""), Source: provenance.Outside}}}},
	}))
	if err != nil {
		return false, fmt.Errorf("guardian: %w", err)
	}
	word := strings.Trim(strings.ToUpper(strings.TrimSpace(resp.Text())), ".!*\"'` ")
	switch {
	case strings.HasPrefix(word, "ATTACK"):
		return true, nil
	case strings.HasPrefix(word, "CLEAN"):
		return false, nil
	}
	return false, fmt.Errorf("guardian: unexpected answer %.40q", resp.Text())
}
