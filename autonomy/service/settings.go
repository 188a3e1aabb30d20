package service

import (
	"context"
	"encoding/json"
	"fmt"

	"hob/autonomy/api"
	"hob/autonomy/config"
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
		x := api.Setting{Key: k.Name, About: k.Doc, Accepts: k.Accepts, Default: k.Default, Many: k.Many, Secret: config.IsSecret(k.Name)}
		if !k.Many {
			v, err := settingValue(now, k.Name)
			if err != nil {
				return nil, err
			}
			was, err := settingValue(normal, k.Name)
			if err != nil {
				return nil, err
			}
			if x.Set = v != was; !x.Secret {
				x.Value = sv.o.Redact.Text(v)
			}
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
