package config

import (
	"fmt"
	"net/mail"
	"path/filepath"
	"slices"
	"strings"

	"hob/platform/host/system"
	"hob/platform/pim"
)

// Account is one [accounts.NAME]: mail and calendars at a provider.
type Account struct {
	Name     string `toml:"-"`
	IMAP     string `toml:"imap"` // see pim.ParseServer
	SMTP     string `toml:"smtp"`
	CalDAV   string `toml:"caldav"` // see pim.ParseURL
	CardDAV  string `toml:"carddav"`
	Address  string `toml:"address"`
	User     string `toml:"user"`     // "" = the address
	Password string `toml:"password"` // a reference or the secret itself
	Auth     string `toml:"auth"`     // "" or "password", "token"
	CA       string `toml:"ca"`       // absolute
}

// Account finds an account by name; "" selects the only one for which has returns true. The
// error lists the existing ones.
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
		return Account{}, fmt.Errorf("no account is configured for that; add one with hob account add you@example.org (docs/accounts.md)")
	case name == "" && len(fit) == 1:
		return fit[0], nil
	case name == "":
		return Account{}, fmt.Errorf("say which account: %s", strings.Join(names, ", "))
	}
	return Account{}, fmt.Errorf("account %q does not exist or cannot be used for this; use one of: %s", name, strings.Join(names, ", "))
}

// Servers returns the account with its servers, without the secret.
func (a Account) Servers() pim.Account {
	return pim.Account{Name: a.Name, IMAP: a.IMAP, SMTP: a.SMTP, CalDAV: a.CalDAV, CardDAV: a.CardDAV, Address: a.Address, User: a.User, Auth: a.Auth, CA: a.CA}
}

// checkAccounts checks values that would otherwise fail only when a server is contacted. An
// incomplete account is not an error, because its keys are set one by one; the doctor reports
// missing keys.
func (k *checker) checkAccounts() {
	for i := range k.c.Accounts {
		a := &k.c.Accounts[i]
		key := "accounts." + a.Name
		k.checkName(key, a.Name)
		for name, protocol := range map[string]string{"imap": pim.IMAP, "smtp": pim.SMTP} {
			value := map[string]string{"imap": a.IMAP, "smtp": a.SMTP}[name]
			if value == "" {
				continue
			}
			_, err := pim.ParseServer(protocol, value)
			k.requireValid(key+"."+name, err == nil, "%v", err)
		}
		if a.CalDAV != "" {
			_, err := pim.ParseURL(a.CalDAV)
			k.requireValid(key+".caldav", err == nil, "%v", err)
		}
		if a.CardDAV != "" {
			_, err := pim.ParseURL(a.CardDAV)
			k.requireValid(key+".carddav", err == nil, "%v", err)
		}
		if a.Address != "" {
			p, err := mail.ParseAddress(a.Address)
			k.requireValid(key+".address", err == nil && p.Address == a.Address, `it must be a mail address such as "ada@example.org"`)
		}
		k.requireValid(key+".user", a.User == "" || oneLine(a.User), "it must be one line")
		k.requireValid(key+".auth", slices.Contains([]string{"", pim.AuthPassword, pim.AuthToken}, a.Auth), `it must be "password" or "token"`)
		if a.CA != "" {
			abs, err := system.Expand(a.CA)
			k.requireValid(key+".ca", err == nil && filepath.IsAbs(abs), `it must be a whole path such as "~/certificates/mail.pem"`)
			a.CA = abs
		}
	}
}

// MissingKeys describes the missing keys of an account, "" if none.
func (a Account) MissingKeys() string {
	switch {
	case a.IMAP+a.SMTP+a.CalDAV+a.CardDAV == "":
		return "it has no server; set imap, smtp, caldav or carddav"
	case a.Address+a.User == "":
		return "it does not say who signs in; set address"
	case a.Password == "":
		return "it has no password; set password"
	}
	return ""
}

// HasServer reports whether the account has a server: "imap", "smtp", "caldav" or "carddav".
func (a Account) HasServer(server string) bool {
	return map[string]string{"imap": a.IMAP, "smtp": a.SMTP, "caldav": a.CalDAV, "carddav": a.CardDAV}[server] != ""
}
