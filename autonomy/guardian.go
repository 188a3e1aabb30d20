package autonomy

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

// Guardian asks a model whether an untrusted text tries to manipulate its reader. The model
// sees only the fenced text and has no tools. A yes adds a mark. A no, a failure, an unclear or
// a late answer changes nothing. The call counts against the budget like any other.
func Guardian(model func(ctx context.Context) (llm.Model, error)) func(ctx context.Context, who llm.Account, text string) (bool, error) {
	return func(ctx context.Context, who llm.Account, text string) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, guardianWait)
		defer cancel()
		m, err := model(ctx)
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
}
