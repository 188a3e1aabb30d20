package github

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// The bounds of runs that are asked for one by one.
const (
	maxOpen      = 50
	maxOpenPlain = 2 // at a time without a token, with which there are 60 requests an hour
)

// late asks for the runs that had not ended when they were seen and are not in
// the list any more, or so far down that nobody reads it: the list is sorted by
// when they began. Of those on the first page the list itself tells.
func (a *asker) late(ctx context.Context, at stand, n *news) error {
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
		it, there, err := a.run(ctx, ask[0])
		if err != nil {
			return err
		}
		switch {
		case !there:
		case it.open:
			far = append(far, ask[0]) // behind those that were not asked for
		default:
			n.items = append(n.items, it)
		}
		ask = ask[1:]
	}
	if far = append(ask, far...); len(far) > maxOpen { // the oldest are forgotten
		slices.Sort(far)
		far = far[len(far)-maxOpen:]
	}
	n.stand.Far = far
	return nil
}

// run asks for one run, which may be deleted.
func (a *asker) run(ctx context.Context, id int64) (it item, there bool, err error) {
	address, _, _ := strings.Cut(a.r.address(runs), "?")
	resp, err := a.get(ctx, address+"/"+strconv.FormatInt(id, 10), "")
	if resp != nil && (resp.Status == http.StatusNotFound || resp.Status == http.StatusGone) {
		return item{}, false, nil
	}
	if err != nil {
		return item{}, false, err
	}
	items, _, err := readRun(resp.Body)
	if err != nil {
		return item{}, false, fmt.Errorf("%s: a run cannot be read: %w", a.r.host, err)
	}
	items[0].what = runs
	return items[0], true, nil
}
