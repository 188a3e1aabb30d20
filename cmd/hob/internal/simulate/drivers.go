package simulate

import (
	"encoding/json"
	"fmt"

	"hob/autonomy/config"
	"hob/platform/pim"
	"hob/watchers"
	watchersall "hob/watchers/all"
	"hob/watchers/file"
)

// watcherDrivers returns the available drivers. File watchers get their events from the script,
// because the system's notifications use real time.
func (p *play) watcherDrivers() []watchers.Driver {
	p.files = file.NewNotified()
	list := watchersall.Drivers()
	for i, d := range list {
		if d.Describe().Kind == file.Kind {
			list[i] = copiedFolders{p.files, p}
		}
	}
	return list
}

// copiedFolders watches the copies of the user's folders.
type copiedFolders struct {
	*file.Driver
	p *play
}

// New implements watchers.Driver.
func (f copiedFolders) New(s watchers.Spec, d watchers.Deps) (any, error) {
	s.Config = f.moveConfigPath(s.Config)
	return f.Driver.New(s, d)
}

// DescribeConfig implements watchers.Driver.
func (f copiedFolders) DescribeConfig(raw json.RawMessage) string {
	return f.Driver.DescribeConfig(f.moveConfigPath(raw))
}

func (f copiedFolders) moveConfigPath(raw json.RawMessage) json.RawMessage {
	var keys map[string]any
	if json.Unmarshal(raw, &keys) != nil {
		return raw // the driver reports the error
	}
	path, ok := keys["path"].(string)
	if !ok {
		return raw
	}
	keys["path"] = f.p.copyPath(path)
	out, err := json.Marshal(keys)
	if err != nil {
		return raw
	}
	return out
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
