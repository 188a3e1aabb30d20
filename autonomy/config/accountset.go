package config

import (
	"context"

	"hob/platform/pim"
)

// AccountSet gives access to the user's accounts and their passwords. The passwords are resolved at
// sign-in.
type AccountSet struct {
	Config *Config
	// Secret resolves references to secrets.
	Secret func(ctx context.Context, ref string) (string, error)
	// Change modifies how an account's servers are reached. Nil changes nothing.
	Change func(pim.Account) pim.Account
}

// Complete lists the accounts that have no missing keys.
func (s AccountSet) Complete() (out []pim.Account) {
	for _, a := range s.Config.Accounts {
		if a.MissingKeys() == "" {
			out = append(out, s.withPassword(a))
		}
	}
	return out
}

// Find returns the account called name, or, if name is "", the only account with this server.
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
