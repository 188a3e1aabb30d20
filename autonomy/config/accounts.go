package config

import (
	"fmt"
	"net/mail"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"hob/platform/host/system"
	"hob/platform/pim"
	pimall "hob/platform/pim/all"
)

// Account is one [accounts.NAME] section: email and calendars at a provider. CA is an absolute
// path.
type Account struct {
	pim.Account        // the account without its secret
	Password    string // a reference to the password, or the password itself
}

// accountSection holds the keys of an account's section as text. The server keys belong to the
// drivers of the account kinds.
type accountSection map[string]string

// accountKeys lists the keys of a section in documentation order.
func accountKeys() []string {
	return append(pimall.Keys(), "address", "user", "password", "auth", "ca")
}

// fillMissing adds the keys that the file does not set.
func (s accountSection) fillMissing() {
	for _, key := range accountKeys() {
		if _, ok := s[key]; !ok {
			s[key] = ""
		}
	}
}

// newAccount returns the account described by a section.
func newAccount(name string, s accountSection) Account {
	a := Account{Account: pim.Account{Name: name, Servers: pim.Servers{}, Address: s["address"], User: s["user"], Auth: s["auth"], CA: s["ca"]}, Password: s["password"]}
	for _, key := range pimall.Keys() {
		if s[key] != "" {
			a.Servers[key] = s[key]
		}
	}
	return a
}

// serverKeys describes the server keys for the documentation.
func serverKeys(section string) (out []Key) {
	accepts := shapeOf(reflect.TypeFor[string]()).describeAccepted()
	for _, d := range pimall.Descriptions() {
		out = append(out, Key{Name: section + "." + d.Key, Accepts: accepts, Default: `""`, Doc: d.Help, Many: true})
	}
	return out
}

// Account returns the account called name. If name is "", it returns the only account for which has
// returns true. The error lists the existing accounts.
func (c *Config) Account(name string, has func(Account) bool) (Account, error) {
	var fit []Account
	var names []string
	for _, a := range c.Accounts {
		switch {
		case a.Name == name && has(a):
			return a, nil
		case has(a):
			fit, names = append(fit, a), append(names, a.Name)
		}
	}
	switch {
	case len(fit) == 0:
		return Account{}, fmt.Errorf("%w for this; add one with hob account add you@example.org (docs/accounts.md)", pim.ErrNoAccount)
	case name == "" && len(fit) == 1:
		return fit[0], nil
	case name == "":
		return Account{}, fmt.Errorf("several accounts match; name one: %s", strings.Join(names, ", "))
	}
	return Account{}, fmt.Errorf("account %q does not exist or cannot be used for this; use one of: %s", name, strings.Join(names, ", "))
}

// checkAccounts checks values that would otherwise cause an error only when a server is contacted.
// An incomplete account is not an error, because its keys are set one by one; the doctor reports
// missing keys.
func (k *checker) checkAccounts() {
	for i := range k.c.Accounts {
		a := &k.c.Accounts[i]
		key := "accounts." + a.Name
		k.checkName(key, a.Name)
		for _, d := range pimall.Descriptions() {
			if server := a.Server(d.Key); server != "" {
				err := d.Check(server)
				k.requireValid(key+"."+d.Key, err == nil, "%v", err)
			}
		}
		if a.Address != "" {
			p, err := mail.ParseAddress(a.Address)
			k.requireValid(key+".address", err == nil && p.Address == a.Address, `must be an email address such as "ada@example.org"`)
		}
		k.requireValid(key+".user", a.User == "" || oneLine(a.User), "must be a single line")
		k.requireValid(key+".auth", slices.Contains([]string{"", pim.AuthPassword, pim.AuthToken}, a.Auth), `must be "password" or "token"`)
		if a.CA != "" {
			abs, err := system.Expand(a.CA)
			k.requireValid(key+".ca", err == nil && filepath.IsAbs(abs), `must be a full path such as "~/certificates/mail.pem"`)
			a.CA = abs
		}
	}
}

// MissingKeys describes the missing keys of an account, or returns "" if none are missing.
func (a Account) MissingKeys() string {
	switch {
	case len(a.Servers) == 0:
		return "no server is set; set " + pimall.KeyChoice()
	case a.Login() == "":
		return "no user name is set; set address"
	case a.Password == "":
		return "no password is set; set password"
	}
	return ""
}

// HasServer reports whether the account has a server of the given kind, such as pim.IMAP.
func (a Account) HasServer(kind string) bool { return a.Server(kind) != "" }
