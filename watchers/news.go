package watchers

import (
	"cmp"
	"encoding/json"
	"fmt"
)

// NewsSource is what the kinds feed, page and search have in common in their configurations, for
// tools that sum up the followed sources.
type NewsSource struct {
	URL    string `json:"url"`
	Query  string `json:"query"`
	Words  Words  `json:"words"`
	Except Words  `json:"except"`
}

// Address returns the address of the source, or the words of the search.
func (n NewsSource) Address() string { return cmp.Or(n.URL, n.Query) }

// NewsSource returns the source of a watcher of the kind feed, page or search.
func (s Spec) NewsSource() (NewsSource, error) {
	var n NewsSource
	if err := json.Unmarshal(s.Config, &n); err != nil {
		return n, fmt.Errorf("watchers: read the configuration of %s: %w", s.ID, err)
	}
	return n, nil
}
