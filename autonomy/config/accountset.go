package config

import (
	"context"

	"hob/platform/pim"
)

// AccountSet gives access to the accounts of the user, with their passwords. The passwords are
// resolved at sign-in.
type AccountSet struct {
	Config *Config
	// Secret resolves references.
	Secret func(ctx context.Context, ref string) (string, error)
	// Change changes how an account's servers are reached; nil changes nothing.
	Change func(pim.Account) pim.Account
}

// Complete lists the accounts without missing keys.
func (s AccountSet) Complete() (out []pim.Account) {
	for _, a := range s.Config.Accounts {
		if a.MissingKeys() == "" {
			out = append(out, s.withPassword(a))
		}
	}
	return out
}

// Find returns one of the accounts with a server; "" selects the only one.
func (s AccountSet) Find(name, server string) (pim.Account, error) {
	a, err := s.Config.Account(name, func(a Account) bool { return a.HasServer(server) })
	if err != nil {
		return pim.Account{}, err
	}
	return s.withPassword(a), nil
}

func (s AccountSet) withPassword(a Account) pim.Account {
	out := a.Account
	out.Secret = func(ctx context.Context) (string, error) { return s.Secret(ctx, a.Password) }
	if s.Change != nil {
		out = s.Change(out)
	}
	return out
}
