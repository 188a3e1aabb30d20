package calendar

import (
	"fmt"
	"time"

	"hob/platform/pim"
)

// cutError says that some events were left out.
type cutError struct {
	From  time.Time // the start of the first of them
	title string
	count int
}

// Error implements error.
func (e *cutError) Error() string {
	return fmt.Sprintf("too many events: %d were left out, starting on %s, for example %q", e.count, e.From.Format("Mon 2 Jan 15:04"), e.title)
}

// fair keeps n events at most, in their order. Those that are there most often give
// way first: an invitation to something of each minute hides nobody else's meetings.
func fair(all []pim.Event, n int) ([]pim.Event, *cutError) {
	if len(all) <= n {
		return all, nil
	}
	key := func(e pim.Event) string {
		if e.UID == "" {
			return "title " + e.Title
		}
		return "uid " + e.UID
	}
	often := map[string]int{}
	for _, e := range all {
		often[key(e)]++
	}
	each := share(often, n)
	out := make([]pim.Event, 0, n)
	var cut *cutError
	had := map[string]int{}
	for _, e := range all {
		k := key(e)
		if had[k]++; had[k] <= each && len(out) < n {
			out = append(out, e)
			continue
		}
		if cut == nil {
			cut = &cutError{From: e.Start, title: pim.Line(e.Title, 60)}
		}
		cut.count++
	}
	return out, cut
}

// share is how often each may be there, so that all together are n at most. It is
// one at least.
func share(often map[string]int, n int) int {
	low, high := 1, n
	for low < high {
		mid := (low + high + 1) / 2
		sum := 0
		for _, c := range often {
			sum += min(c, mid)
		}
		if sum <= n {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}
