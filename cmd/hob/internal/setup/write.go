package setup

import (
	"context"
	"fmt"
	"strings"

	"hob/autonomy/config"
	"hob/platform/host/system"
)

// writeResult stores the secrets and then changes the configuration, which refers to the secrets.
// It stores nothing if the configuration would be invalid.
func (o Options) writeResult(ctx context.Context, what string, d StepResult) (changes []config.Change, err error) {
	if len(d.Values) == 0 {
		return nil, o.saveSecrets(ctx, d.Secrets)
	}
	edit := func() (err error) {
		if err := config.CanSet(o.Paths.ConfigFile(), d.Values); err != nil {
			return err
		}
		if err := o.saveSecrets(ctx, d.Secrets); err != nil {
			return err
		}
		changes, err = config.SetAll(o.Paths.ConfigFile(), d.Values)
		return err
	}
	if o.Edit == nil {
		err = edit()
	} else {
		err = o.Edit(ctx, what, edit)
	}
	return changes, err
}

func (o Options) saveSecrets(ctx context.Context, list []StoredSecret) error {
	for _, k := range list {
		if err := o.Secrets.Store(ctx, k.Name, system.Secret(k.Value)); err != nil {
			return fmt.Errorf("store %s: %w", k.Name, err)
		}
	}
	return nil
}

// secretOf interprets the answer to a question that asks for a secret. It returns the secret to
// test, the reference for the configuration, and the secret to store. An empty answer means the
// stored secret. A new secret's reference names the entry under which the secret will be stored.
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
