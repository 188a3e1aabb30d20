package apps

import "hob/platform/host/osrun"

// Scripts returns all scripts, for tests.
func Scripts() []osrun.Script {
	return []osrun.Script{joinScript("list.js"), joinScript("open.js"), joinScript("tab.js")}
}
