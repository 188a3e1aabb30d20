// Package guardian asks a second model whether untrusted text tries to manipulate its reader. The
// package decides nothing: the turn adds a mark to text that the model calls an attack.
package guardian

import (
	"context"
	_ "embed" // embeds the prompt texts
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
	guardianBytes = 12_000 // maximum number of bytes sent; longer text is cut in the middle
)

// Checker checks untrusted text with a model. It implements turn.TextChecker and is safe for
// concurrent use.
type Checker struct {
	model func(ctx context.Context) (llm.Model, error)
}

// TextChecker has the same methods as turn.TextChecker.
type TextChecker interface {
	IsHostile(ctx context.Context, who llm.Account, text string) (bool, error)
}

// Open returns the checker configured in [guard] guardian, or nil if none is set. model returns a
// function that creates the named model. If the model cannot be created, every check fails, and the
// turn continues as if there were no guardian.
func Open(name string, model func(name string) func(context.Context) (llm.Model, error)) TextChecker {
	if name == "" || name == "off" {
		return nil
	}
	return New(model(name))
}

// New returns a checker that calls model at each check to get its model.
func New(model func(ctx context.Context) (llm.Model, error)) *Checker { return &Checker{model} }

// IsHostile reports whether the model calls text an attack. The model sees only the fenced text and
// has no tools. An ambiguous or late answer is an error. The model call is charged to the account
// who.
func (c *Checker) IsHostile(ctx context.Context, who llm.Account, text string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, guardianWait)
	defer cancel()
	m, err := c.model(ctx)
	if err != nil {
		return false, fmt.Errorf("guardian: create the model: %w", err)
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
		return false, fmt.Errorf("guardian: check a text: %w", err)
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
