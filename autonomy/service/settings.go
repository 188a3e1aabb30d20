package service

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"hob/autonomy/api"
	"hob/autonomy/config"
	pimall "hob/platform/pim/all"
)

// Settings implements api.Settings.
func (sv *Service) Settings(context.Context) ([]api.Setting, error) {
	now := config.LoadLatest(sv.o.Revisions.Path, sv.o.Config)
	normal, err := config.Default()
	if err != nil {
		return nil, err
	}
	var out []api.Setting
	for _, k := range config.Keys() {
		x := api.Setting{Key: k.Name, About: k.Doc, Accepts: k.Accepts, Default: k.Default, Many: k.Many, Secret: config.IsSecret(k.Name), OnPage: config.ChangeableOnPage(k.Name)}
		if !k.Many {
			v, err := settingValue(now, k.Name)
			if err != nil {
				return nil, err
			}
			was, err := settingValue(normal, k.Name)
			if err != nil {
				return nil, err
			}
			running, err := settingValue(sv.o.Config, k.Name)
			if err != nil {
				return nil, err
			}
			switch {
			case v == running:
			case sv.willRestart():
				x.Pending = api.PendingRestart
			default:
				x.Pending = api.PendingStart
			}
			if x.Set = v != was; !x.Secret {
				x.Value = sv.o.Redact.Text(v)
			}
		}
		out = append(out, x)
	}
	return out, nil
}

// MailAccounts implements api.Settings.
func (sv *Service) MailAccounts(context.Context) ([]api.MailAccount, error) {
	out := []api.MailAccount{}
	for _, c := range config.LoadLatest(sv.o.Revisions.Path, sv.o.Config).Accounts {
		x := api.MailAccount{Name: c.Name, Address: c.Login(), Missing: c.MissingKeys()}
		for _, d := range pimall.Descriptions() {
			if server := c.Servers[d.Key]; server != "" {
				x.Servers = append(x.Servers, d.Label+": "+server)
			}
		}
		running := slices.ContainsFunc(sv.o.Config.Accounts, func(r config.Account) bool { return reflect.DeepEqual(r, c) })
		switch {
		case running:
		case sv.willRestart():
			x.Pending = api.PendingRestart
		default:
			x.Pending = api.PendingStart
		}
		out = append(out, x)
	}
	return out, nil
}

// settingValue returns the effective value of a key as text.
func settingValue(c *config.Config, key string) (string, error) {
	v, err := c.Get(key)
	if err != nil {
		return "", err
	}
	if s, ok := v.(string); ok {
		return s, nil
	}
	b, err := json.Marshal(v)
	return string(b), err
}

// PreviewSetting implements api.Settings.
func (sv *Service) PreviewSetting(_ context.Context, key, value string) (api.SettingChange, error) {
	if config.IsSecret(key) {
		return api.SettingChange{}, fmt.Errorf("%w: %s is a secret, which is not sent over the network; set it in a terminal: hob secret set", api.ErrInvalid, key)
	}
	ch, err := config.Preview(sv.o.Revisions.Path, key, value, sv.o.SettingChecks...)
	if err != nil {
		return api.SettingChange{}, fmt.Errorf("%w: %w", api.ErrInvalid, err)
	}
	return api.SettingChange{Key: ch.Key, Old: sv.o.Redact.Text(ch.Old), New: ch.New, Warning: ch.Warning}, nil
}

// SaveSetting implements api.Settings.
func (sv *Service) SaveSetting(ctx context.Context, key, old, value string) (api.SettingChange, error) {
	if !config.ChangeableOnPage(key) {
		return api.SettingChange{}, fmt.Errorf("%w: %s can be changed only in a terminal; run hob config set", api.ErrDenied, key)
	}
	sv.saving.Lock()
	defer sv.saving.Unlock()
	ch, err := sv.PreviewSetting(ctx, key, value)
	switch {
	case err != nil:
		return api.SettingChange{}, err
	case ch.Old != old:
		return api.SettingChange{}, fmt.Errorf("%w: %s was changed in the meantime; check the value again", api.ErrConflict, key)
	}
	return ch, sv.saveValues(ctx, key, config.Value{Key: key, Value: value})
}

// saveValues writes values into the configuration, journals the change for undo, and restarts Hob to
// apply it. The caller holds sv.saving.
func (sv *Service) saveValues(ctx context.Context, what string, values ...config.Value) error {
	copies := sv.o.Revisions
	before, err := copies.Keep()
	if err != nil {
		return err
	}
	if _, err := config.SetAll(copies.Path, values, sv.o.SettingChecks...); err != nil {
		return fmt.Errorf("%w: %w", api.ErrInvalid, err)
	}
	after, err := copies.Keep()
	if err != nil || after == before {
		return err
	}
	return sv.ConfigChanged(ctx, api.ConfigChange{What: what, Before: before, After: after, Apply: true})
}

// ApplySettings implements api.Settings.
func (sv *Service) ApplySettings(context.Context) error {
	if !sv.ApplyConfig() {
		return fmt.Errorf("%w: this process cannot restart itself; run hob stop, then hob start", api.ErrConflict)
	}
	return nil
}
