package setup

import (
	"context"
	"strings"

	"hob/platform/host/system"
)

// secretOf interprets the answer to a question for a secret. It returns the secret to test, the
// reference for the configuration, and the secret to store. An empty answer means the stored
// secret. A new secret's reference names the entry under which it will be stored.
func (o Options) secretOf(ctx context.Context, answer, name, now string) (plain, ref string, kept []StoredSecret, err error) {
	if answer = strings.TrimSpace(answer); answer == "" {
		answer = now
	}
	if answer == "" || answer == now && !system.IsReference(answer) { // a plain-text secret stays as the user wrote it
		return answer, answer, nil, nil
	}
	if system.IsReference(answer) {
		s, err := o.Secrets.Resolve(ctx, answer)
		return s.Reveal(), answer, nil, err
	}
	return answer, "keychain:" + name, []StoredSecret{{name, answer}}, nil
}
