package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hob/autonomy/config"
	"hob/platform/pim"
	"hob/platform/pim/signin"
)

const accountRemedy = "see the section of the account in the configuration and docs/accounts.md"

// checkAccounts signs in to the servers of each account. It reads nothing there
// and sends nothing.
func checkAccounts(ctx context.Context, e Env) []Check {
	return checkEach(e.Config.Accounts, func(a config.Account) []Check { return checkAccount(ctx, e, a) })
}

func checkAccount(ctx context.Context, e Env, c config.Account) []Check {
	name := "account " + c.Name
	if missing := c.MissingKeys(); missing != "" {
		return failCheck(name, missing, fmt.Sprintf("hob config set accounts.%s.KEY VALUE (docs/accounts.md)", c.Name))
	}
	a := c.Account
	a.Secret = func(ctx context.Context) (string, error) { return e.Secrets.Reveal(ctx, c.Password) }
	var good []string
	for _, x := range signin.Check(ctx, a) {
		if x.Err != nil {
			return failCheck(name, strings.TrimPrefix(x.Err.Error(), name+": "), remedyOf(x.Err, c))
		}
		good = append(good, x.Said)
	}
	return okCheck(name, strings.Join(good, "; "))
}

func remedyOf(err error, c config.Account) string {
	if errors.Is(err, pim.ErrSignIn) {
		return fmt.Sprintf("many providers require an app password; set it: hob secret set mail, then hob config set accounts.%s.password keychain:mail", c.Name)
	}
	return accountRemedy
}
