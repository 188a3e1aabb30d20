package github

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Limits of the requests for individual runs.
const (
	maxOpen      = 50
	maxOpenPlain = 2 // requests per poll without a token, because the limit is 60 per hour
)

// lateRuns requests the runs that had not ended at the last poll and are no longer on a page that
// is read, because the list is sorted by start time. It does not request runs on the first page,
// because the poll has read them.
func (a *asker) lateRuns(ctx context.Context, at endpointCursor, n *endpointResult) error {
	ask, far := slices.Clone(at.Far), []int64(nil)
	if !n.same {
		seen := map[int64]bool{}
		n.stand.Near = nil
		for _, it := range n.items {
			switch {
			case seen[it.run]:
			case it.open && it.first:
				n.stand.Near = append(n.stand.Near, it.run)
			case it.open:
				far = append(far, it.run)
			}
			seen[it.run] = true
		}
		ask = slices.DeleteFunc(append(ask, at.Near...), func(id int64) bool { return seen[id] })
	}
	most := maxOpen
	if a.token == "" {
		most = maxOpenPlain
	}
	for range min(most, len(ask)) {
		it, there, err := a.getRun(ctx, ask[0])
		if err != nil {
			return err
		}
		switch {
		case !there:
		case it.open:
			far = append(far, ask[0]) // continue after the runs that were not requested
		default:
			n.items = append(n.items, it)
		}
		ask = ask[1:]
	}
	if far = append(ask, far...); len(far) > maxOpen { // drop the oldest runs
		slices.Sort(far)
		far = far[len(far)-maxOpen:]
	}
	n.stand.Far = far
	return nil
}

// getRun requests one run. The result there is false if the run was deleted.
func (a *asker) getRun(ctx context.Context, id int64) (it item, there bool, err error) {
	address, _, _ := strings.Cut(a.r.endpointURL(runs), "?")
	resp, err := a.getPage(ctx, address+"/"+strconv.FormatInt(id, 10), "")
	if resp != nil && (resp.Status == http.StatusNotFound || resp.Status == http.StatusGone) {
		return item{}, false, nil
	}
	if err != nil {
		return item{}, false, err
	}
	items, _, err := readRun(resp.Body)
	if err != nil {
		return item{}, false, fmt.Errorf("%s: parse a run: %w", a.r.host, err)
	}
	items[0].what = runs
	return items[0], true, nil
}
