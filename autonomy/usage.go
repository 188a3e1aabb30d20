package autonomy

import (
	"context"
	"fmt"
	"time"

	"hob/autonomy/llm"
	"hob/knowledge/store"
)

// DayUsage is what one model was used for on one day.
type DayUsage struct {
	Day   string // YYYY-MM-DD in the given zone
	Model string
	Turns int
	Calls int // model calls
	Usage llm.Usage
}

// Usage sums the turns by day and model, newest day first, at most n rows.
func (l *Loop) Usage(ctx context.Context, zone *time.Location, n int) ([]DayUsage, error) {
	rows, err := l.o.Store.Read().QueryContext(ctx, `SELECT model, rounds, input, output, cache_read, cache_write, known, ended_at FROM turns WHERE model <> '' ORDER BY ended_at DESC`)
	if err != nil {
		return nil, fmt.Errorf("usage: %w", err)
	}
	defer rows.Close()
	var out []DayUsage
	at := map[[2]string]int{}
	for rows.Next() {
		var d DayUsage
		var ended int64
		if err := rows.Scan(&d.Model, &d.Calls, &d.Usage.Input, &d.Usage.Output, &d.Usage.CacheRead, &d.Usage.CacheWrite, &d.Usage.Known, &ended); err != nil {
			return nil, fmt.Errorf("usage: %w", err)
		}
		d.Day, d.Turns = store.Time(ended).In(zone).Format(time.DateOnly), 1
		key := [2]string{d.Day, d.Model}
		i, ok := at[key]
		if !ok {
			if len(out) == n {
				break
			}
			at[key] = len(out)
			out = append(out, d)
			continue
		}
		out[i].Turns++
		out[i].Calls += d.Calls
		out[i].Usage = out[i].Usage.Add(d.Usage)
	}
	return out, rows.Err()
}
