// Package holidays returns the user's days off: all-day events in configured
// calendar files, such as public holidays and vacation.
package holidays

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"sync"
	"time"

	"hob/platform/pim/ics"
)

const (
	maxFile = 2 << 20     // bytes
	longest = 366         // maximum number of days of one event
	again   = time.Minute // time after which the files are checked for changes

	// patience is the maximum wait for a refresh, because reading from an unavailable network share
	// may hang for minutes.
	patience = 2 * time.Second
)

// Files provides the days off in calendar files. It detects changes to the files while the program
// runs. It may be used concurrently.
type Files struct {
	paths []string
	bad   func(error) // receives each read error once, until the error changes

	mu      sync.Mutex
	looked  time.Time
	looking chan struct{}            // closed when the running refresh has ended
	late    bool                     // a caller has already timed out waiting for this refresh
	files   map[string]*calendarFile // replaced as a whole, never modified
}

// calendarFile is the state of a file when it was last read.
type calendarFile struct {
	at   time.Time
	size int64
	from int // first year that was read
	days map[string]bool
	bad  string // last reported error
}

// New returns the Files for paths. It passes read errors to bad. If a file can no longer be read,
// its last readable content is used.
func New(paths []string, bad func(error)) *Files {
	return &Files{paths: paths, bad: bad, files: map[string]*calendarFile{}}
}

// Reporter returns a function that reports whether a day is off according to the files, and that
// logs read errors. It returns nil if there are no files.
func Reporter(paths []string, log *slog.Logger) func(day time.Time) bool {
	if len(paths) == 0 {
		return nil
	}
	return New(paths, func(err error) { log.Warn("cannot load all days off", "err", err) }).Has
}

// Has reports whether a day is off. It waits for a refresh, but only for a limited time. If the
// refresh takes longer, Has uses the previous content.
func (f *Files) Has(day time.Time) bool {
	f.awaitRefresh()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.files {
		if one.days[day.Format(time.DateOnly)] {
			return true
		}
	}
	return false
}

// awaitRefresh starts a refresh if one is due and none is running, and waits for it.
func (f *Files) awaitRefresh() {
	f.mu.Lock()
	if f.looking == nil && time.Since(f.looked).Abs() >= again {
		f.looked, f.looking, f.late = time.Now(), make(chan struct{}), false
		go f.refreshFiles(f.looked, maps.Clone(f.files), f.looking)
	}
	done, late := f.looking, f.late
	f.mu.Unlock()
	if done == nil || late {
		return
	}
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
		f.mu.Lock()
		f.late = f.looking != nil
		f.mu.Unlock()
	}
}

// refreshFiles reads changed files. It owns files until it returns.
func (f *Files) refreshFiles(now time.Time, files map[string]*calendarFile, done chan struct{}) {
	for _, path := range f.paths {
		old := files[path]
		if old == nil {
			old = &calendarFile{days: map[string]bool{}}
		}
		fi, err := os.Stat(path)
		if err == nil && fi.ModTime().Equal(old.at) && fi.Size() == old.size && old.from == now.Year() {
			continue
		}
		fresh := calendarFile{from: now.Year(), days: old.days}
		if err == nil {
			var days map[string]bool
			if days, err = Read(path, now); err == nil || len(days) > 0 {
				fresh.at, fresh.size, fresh.days = fi.ModTime(), fi.Size(), days // if nothing could be read, at and size stay zero, so that the next refresh tries again
			}
		}
		if err != nil {
			if fresh.bad = err.Error(); fresh.bad != old.bad {
				f.bad(err)
			}
		}
		files[path] = &fresh
	}
	f.mu.Lock()
	f.files, f.looking = files, nil
	f.mu.Unlock()
	close(done)
}

// Read returns the days off in a calendar file, from last year to three years ahead. It also
// returns days with an error, which describes the entries that could not be read.
func Read(path string, now time.Time) (map[string]bool, error) {
	h, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("holidays: open the calendar file: %w", err)
	}
	defer h.Close()
	b, err := io.ReadAll(io.LimitReader(h, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("holidays: read the calendar file: %w", err)
	}
	out := map[string]bool{}
	var bad error
	for year := now.Year() - 1; year <= now.Year()+3; year++ {
		from := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		events, err := ics.Events(b, ics.Span{From: from, To: from.AddDate(1, 0, 0), Zone: time.UTC})
		if err != nil {
			bad = fmt.Errorf("holidays: %s: %w", path, err)
		}
		for _, e := range events {
			if !e.AllDay || e.Cancelled {
				continue
			}
			for day, n := e.Start, 0; n == 0 || day.Before(e.End) && n < longest; n++ {
				out[day.Format(time.DateOnly)] = true
				day = day.AddDate(0, 0, 1)
			}
		}
	}
	return out, bad
}
