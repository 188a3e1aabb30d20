package doctor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"hob/autonomy/config"
	"hob/platform/pim"
	"hob/platform/pim/signin"
	"hob/platform/text/holidays"
	"hob/platform/text/textnorm"
)

const accountRemedy = "see the account's section in the configuration and docs/accounts.md"

// checkAccounts signs in to the servers of each account. It neither reads nor sends data there.
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

// checkDaysOff checks that the calendars of [autonomy] days_off are readable and contain a
// future day.
func checkDaysOff(_ context.Context, e Env) (out []Check) {
	now := time.Now()
	coming := 0
	for _, path := range e.Config.Autonomy.DaysOff {
		days, err := holidays.Read(path, now)
		if err != nil {
			out = append(out, warnCheck("days off", fmt.Sprintf("%s: %v", filepath.Base(path), err), "add calendar data (.ics), or remove it from autonomy.days_off")...)
		}
		for d := range days {
			if d >= now.Format(time.DateOnly) {
				coming++
			}
		}
	}
	switch {
	case len(e.Config.Autonomy.DaysOff) == 0 || len(out) > 0:
		return out
	case coming == 0:
		return warnCheck("days off", "your calendars contain no future days off", "download them again, or correct autonomy.days_off")
	}
	return okCheck("days off", textnorm.CountNoun(coming, "day", "days")+" off in the future")
}
