package calendar

import (
	"fmt"
	"time"

	"hob/platform/pim"
)

// cutError means that some events were omitted.
type cutError struct {
	From  time.Time // start of the earliest omitted event
	title string
	count int
}

// Error implements error.
func (e *cutError) Error() string {
	return fmt.Sprintf("too many events: %d events are not shown; the earliest starts on %s, for example %q", e.count, e.From.Format("Mon 2 Jan 15:04"), e.title)
}

// limitEvents returns at most n events, in order. It first drops occurrences of the most frequent
// events, so that an invitation that repeats every minute does not hide other meetings.
func limitEvents(all []pim.Event, n int) ([]pim.Event, *cutError) {
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
	each := maxPerSeries(often, n)
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
			cut = &cutError{From: e.Start, title: pim.SanitizeLine(e.Title, 60)}
		}
		cut.count++
	}
	return out, cut
}

// maxPerSeries returns the maximum number of occurrences per event that keeps the total at n or
// less. It is at least 1.
func maxPerSeries(often map[string]int, n int) int {
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
