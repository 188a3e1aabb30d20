package setup

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"hob/autonomy/config"
	"hob/cmd/hob/internal/account"
	"hob/platform/system"
)

// account asks for an account with mail and calendars, and signs in to it. An
// empty answer leaves it out.
func (o Options) account(ctx context.Context, ask Asker) ([]config.Value, error) {
	for {
		address, err := ask.Ask("Your mail address, so that Hob can tell you of mail and meetings (empty: not now)", "")
		if err != nil || address == "" {
			return nil, err
		}
		found, err := account.Find(ctx, address, o.DNS)
		if err != nil {
			fmt.Fprintln(o.Out, err)
			continue
		}
		n := account.New{Account: config.Account{Name: account.Name(address, found.Provider, o.Config.Accounts), Address: address}}
		use := false
		if found.Known() {
			if use, err = o.shown(ask, found); err != nil {
				return nil, err
			}
		}
		if use {
			n.Fill(found)
		} else if err := askServers(ask, &n); err != nil {
			return nil, err
		}
		values, err := o.signIn(ctx, ask, &n, found.Hint)
		if err != nil || values != nil {
			return values, err
		}
	}
}

// shown shows the servers that were found, and asks whether they are the right ones.
func (o Options) shown(ask Asker, s account.Servers) (bool, error) {
	for _, x := range [][2]string{{"mail", s.IMAP}, {"outgoing mail", s.SMTP}, {"calendars", s.CalDAV}} {
		if x[1] != "" {
			fmt.Fprintf(o.Out, "  %s: %s\n", x[0], x[1])
		}
	}
	if s.Foreign != "" {
		fmt.Fprintf(o.Out, "The domain of the address sends us to %s, which is another one. Use it only if you know that it is your provider's.\n", s.Foreign)
	}
	i, err := ask.Choose("Are these your servers?", []string{"yes, use them", "no, I name them"})
	return i == 0, err
}

func askServers(ask Asker, n *account.New) error {
	for _, x := range []struct {
		name, question string
		to             *string
	}{
		{"imap", "The server of your mail, such as imap.example.org (empty: none)", &n.IMAP},
		{"smtp", "The server for outgoing mail (empty: none)", &n.SMTP},
		{"caldav", "The address of your calendars, such as https://dav.example.org/ (empty: none)", &n.CalDAV},
	} {
		s, err := ask.Ask(x.question, "")
		if err != nil {
			return err
		}
		if *x.to = s; s != "" {
			n.Given = append(n.Given, x.name)
		}
	}
	return nil
}

// signIn asks for the password until the servers take it. Nothing is returned when
// the owner begins again.
func (o Options) signIn(ctx context.Context, ask Asker, n *account.New, hint string) ([]config.Value, error) {
	if n.IMAP+n.SMTP+n.CalDAV == "" {
		fmt.Fprintln(o.Out, "Without a server there is nothing to sign in to.")
		return nil, nil
	}
	fmt.Fprintln(o.Out, cmp.Or(hint, "Many providers want an app password for programs; you make it in the security settings of your account there."))
	for {
		secret, err := ask.Secret("The password for it (it is not shown)")
		if err != nil {
			return nil, err
		}
		said, err := n.Try(ctx, secret)
		if err == nil {
			fmt.Fprintln(o.Out, strings.Join(said, "\n"))
			return n.Keep(ctx, o.Secrets, secret)
		}
		fmt.Fprintf(o.Out, "That does not work: %v\n", err)
		i, err := ask.Choose("What now?", []string{"another password", "another account or other servers", "keep it as it is", "no account now"})
		switch {
		case err != nil:
			return nil, err
		case i == 1:
			return nil, nil
		case i == 2:
			return n.Keep(ctx, o.Secrets, secret)
		case i == 3:
			return []config.Value{}, nil
		}
	}
}

// accounts completes the accounts among the answers of a file: the servers of an
// address that names none, and passwords that stand there are put where they are
// safe.
func (o Options) accounts(ctx context.Context, all map[string]any) error {
	list, _ := all["accounts"].(map[string]any)
	for name, v := range list {
		keys, ok := v.(map[string]any)
		if !ok {
			continue
		}
		text := func(key string) string { s, _ := keys[key].(string); return s }
		if text("imap")+text("smtp")+text("caldav") == "" && text("address") != "" {
			found, err := account.Find(ctx, text("address"), o.DNS)
			switch {
			case err != nil:
				return fmt.Errorf("accounts.%s.address: %w", name, err)
			case !found.Known() || found.Foreign != "":
				return fmt.Errorf("accounts.%s: the servers of %s are not known; name imap, smtp or caldav", name, text("address"))
			}
			for key, value := range map[string]string{"imap": found.IMAP, "smtp": found.SMTP, "caldav": found.CalDAV, "auth": found.Auth} {
				if value != "" && text(key) == "" {
					keys[key] = value
				}
			}
		}
		if secret := text("password"); secret != "" && !system.IsReference(secret) {
			if err := o.Secrets.Store(ctx, account.SecretName(name), system.Secret(secret)); err != nil {
				return fmt.Errorf("accounts.%s.password: it cannot be kept safely: %w; write env:NAME or file:PATH", name, err)
			}
			keys["password"] = "keychain:" + account.SecretName(name)
			fmt.Fprintf(o.Out, "The password of the account %s is kept; take it out of the file with the answers.\n", name)
		}
	}
	return nil
}
