package daemon

import (
	"context"

	"hob/autonomy/config"
	"hob/platform/pim"
)

// account finds one of the owner's accounts that has a server, for the watchers.
// Its password is looked up when it signs in.
func (d *Daemon) account(name, server string) (pim.Account, error) {
	c, err := d.opt.Config.Account(name, func(a config.Account) bool { return a.Has(server) })
	if err != nil {
		return pim.Account{}, err
	}
	a := c.Servers()
	a.Secret = func(ctx context.Context) (string, error) { return d.resolve(ctx, c.Password) }
	return a, nil
}
