package simulate

import (
	"fmt"

	"hob/autonomy/config"
	"hob/platform/pim"
	"hob/watchers"
	watchersall "hob/watchers/all"
)

// watcherDrivers returns the available drivers. Drivers that rely on notifications from the
// operating system watch copies of the user's folders. They get their events from the script,
// because the operating system uses real time.
func (p *play) watcherDrivers() []watchers.Driver {
	p.notify = nil
	list := watchersall.Drivers()
	for i, d := range list {
		if n, ok := d.(watchers.NotifiedDriver); ok {
			var notify func(path string)
			list[i], notify = n.WithoutSystem(p.copyPath)
			p.notify = append(p.notify, notify)
		}
	}
	return list
}

// accountOf returns the account called name in the configuration, to which the script may have
// added it.
func (p *play) accountOf(name string) (config.Account, error) {
	a, err := p.conf.Account(name, func(a config.Account) bool { return a.HasServer(pim.IMAP) || a.HasServer(pim.CalDAV) })
	if err != nil {
		return a, fmt.Errorf("%w; a script adds one below \"-- config --\"", err)
	}
	return a, nil
}
