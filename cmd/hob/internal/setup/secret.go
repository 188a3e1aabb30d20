package setup

import (
	"context"
	"strings"

	"hob/platform/system"
)

// secretOf is what an answer to a question for a secret means: the secret itself,
// to be tried, the reference for the configuration, and what has to be kept for it.
// An empty answer is the one that is there already. The reference of a new secret
// is to the name under which it will be kept.
func (o Options) secretOf(ctx context.Context, answer, name, now string) (plain, ref string, kept []Kept, err error) {
	if answer = strings.TrimSpace(answer); answer == "" {
		answer = now
	}
	if answer == "" || answer == now && !system.IsReference(answer) { // one in the clear stays as the owner has it
		return answer, answer, nil, nil
	}
	if system.IsReference(answer) {
		s, err := o.Secrets.Resolve(ctx, answer)
		return s.Reveal(), answer, nil, err
	}
	return answer, "keychain:" + name, []Kept{{name, answer}}, nil
}
