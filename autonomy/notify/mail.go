package notify

import (
	"fmt"
	"slices"
	"time"
)

// Mail says what the rules hold of a mail: how urgent it is and which rule says so,
// or 0. Only rules that are about people or words count, since a mail that nobody
// watches for has no channel, watcher or time. addresses are its senders', names what
// they call themselves.
func Mail(rules []Rule, addresses, names []string, text string) (Urgency, string) {
	for i, r := range rules {
		if len(r.People)+len(r.Words) == 0 || len(r.Channels)+len(r.Watchers) > 0 || r.Within > 0 || len(r.Causes) > 0 && !slices.Contains(r.Causes, string(Watcher)) {
			continue
		}
		r.Causes = nil
		if r.fits(about{People: addresses, Names: names, Text: text}, time.Time{}) {
			return r.Urgency, fmt.Sprintf("your rule %d", i+1)
		}
	}
	return 0, ""
}
