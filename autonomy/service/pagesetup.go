package service

import (
	"context"
	"errors"
	"fmt"

	"hob/autonomy/api"
	"hob/autonomy/config"
	"hob/autonomy/skills"
)

// PageOrigin is the channel name for actions in the forms of the page.
const PageOrigin = "web"

// AccountAdder signs in to mail accounts.
type AccountAdder interface {
	// SignIn signs in to a new account with its password. It stores the password and returns the values
	// for the configuration, unless it returns an error or unknown certificates.
	SignIn(ctx context.Context, now *config.Config, in api.NewMailAccount) ([]config.Value, api.AddedMailAccount, error)
}

// IsRestarting implements api.PageSetup.
func (sv *Service) IsRestarting() bool { return sv.willRestart() }

// latestConfig returns the configuration in the file.
func (sv *Service) latestConfig() *config.Config {
	return config.LoadLatest(sv.o.Revisions.Path, sv.o.Config)
}

// QuietHours implements api.PageSetup.
func (sv *Service) QuietHours(context.Context) (api.QuietHours, error) {
	switch list := sv.latestConfig().Notify.Quiet; len(list) {
	case 0:
		return api.QuietHours{}, nil
	case 1:
		return api.QuietHours{Start: list[0].Start, End: list[0].End}, nil
	}
	return api.QuietHours{Several: true}, nil
}

// SetQuietHours implements api.PageSetup.
func (sv *Service) SetQuietHours(ctx context.Context, start, end string) error {
	sv.saving.Lock()
	defer sv.saving.Unlock()
	if len(sv.latestConfig().Notify.Quiet) > 1 {
		return fmt.Errorf("%w: the file contains several quiet hours; edit them in a terminal: hob config path", api.ErrConflict)
	}
	return sv.saveValues(ctx, "quiet hours", config.Value{Key: "notify.quiet_hours.start", Value: start}, config.Value{Key: "notify.quiet_hours.end", Value: end})
}

// AddMailAccount implements api.PageSetup.
func (sv *Service) AddMailAccount(ctx context.Context, in api.NewMailAccount) (api.AddedMailAccount, error) {
	values, out, err := sv.o.Accounts.SignIn(ctx, sv.latestConfig(), in)
	if err != nil || len(out.Unknown) > 0 {
		return out, err
	}
	sv.saving.Lock()
	defer sv.saving.Unlock()
	return out, sv.saveValues(ctx, "a new account "+out.Name, values...)
}

// AddSkill implements api.PageSetup.
func (sv *Service) AddSkill(ctx context.Context, in api.NewSkill) (out api.AddedSkill, err error) {
	c, err := skills.Write(in.Name, in.Description, in.Text)
	if err != nil {
		return out, classifySkill(err)
	}
	out.Name = c.Name
	for _, f := range c.Findings {
		out.Findings = append(out.Findings, f.What)
	}
	if out.Trusted, err = (skills.Home{Paths: sv.o.Paths}).Add(ctx, c, skills.AddOptions{}); err != nil {
		return out, classifySkill(err)
	}
	_, err = sv.RecordTrust(ctx, api.TrustRecord{Kind: "skill", Items: []api.TrustedItem{{Name: c.Name, Digest: c.Digest}}, Added: true, Untrusted: !out.Trusted})
	return out, err
}

// classifySkill converts the errors of skills to the error classes of the API.
func classifySkill(err error) error {
	switch {
	case errors.Is(err, skills.ErrExists):
		return fmt.Errorf("%w: %w", api.ErrConflict, err)
	case errors.Is(err, skills.ErrInvalid):
		return fmt.Errorf("%w: %w", api.ErrInvalid, err)
	}
	return err
}
