// Package health provides the tools for habits: log_habit, habit_streak, habit_report,
// set_habit_target and import_habits. Users choose the names of habits; names that
// differ only in case or spacing are equal. A streak is a run of consecutive days that includes
// today or yesterday.
package health

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Deps are the dependencies of the tools.
type Deps struct {
	Store *store.Store
	// Clock creates the reminders of targets. If it is nil, there are none.
	Clock Clock
	// Read reads a file that the user allows, of at most limit bytes. If it is nil, no files can be
	// read.
	Read func(ctx context.Context, path string, limit int64) (knowledge.File, error)
	// Keep saves a picture and returns its path. If it is nil, no pictures are drawn.
	Keep func(name string, data []byte) (string, error)
}

// Tools returns the category's tools.
func Tools(d Deps) []tools.Tool {
	return []tools.Tool{
		d.logHabit(),
		d.habitStreak(),
		d.habitReport(),
		d.habitTarget(),
		d.importHabits(),
	}
}

// Migrations returns the tables of this package.
func Migrations() []store.MigrationSet {
	return []store.MigrationSet{{Owner: "habits", Steps: []string{`
CREATE TABLE habits (
	id TEXT PRIMARY KEY,
	habit TEXT NOT NULL, -- as the owner called it
	name TEXT NOT NULL,  -- folded, for comparing
	day TEXT NOT NULL,   -- YYYY-MM-DD in the owner's zone
	value REAL, unit TEXT NOT NULL, note TEXT NOT NULL,
	provenance TEXT NOT NULL, created_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX habits_name ON habits (name, day);`, `
CREATE TABLE habit_targets (
	name TEXT PRIMARY KEY,   -- folded name of the habit
	habit TEXT NOT NULL,
	goal REAL NOT NULL, unit TEXT NOT NULL, period TEXT NOT NULL,
	reminder TEXT NOT NULL,  -- id of the daily reminder, or ''
	provenance TEXT NOT NULL, created_at INTEGER NOT NULL
) WITHOUT ROWID;`}}}
}

// Entry is one logged habit.
type Entry struct {
	ID         string            `json:"id"`
	Habit      string            `json:"habit"`
	Day        string            `json:"date"` // YYYY-MM-DD
	Value      *float64          `json:"value,omitempty"`
	Unit       string            `json:"unit,omitempty"`
	Note       string            `json:"note,omitempty"`
	Provenance provenance.Source `json:"provenance"`
	CreatedAt  time.Time         `json:"created_at"`
}

// foldName normalizes a name for comparison. It returns a name without letters or digits, such as
// an emoji, unchanged.
func foldName(habit string) string {
	if words := textnorm.FoldedWords(habit); len(words) > 0 {
		return strings.Join(words, " ")
	}
	return strings.TrimSpace(habit)
}

func insertEntry(tx *store.Tx, e Entry) error {
	_, err := tx.Exec(`INSERT INTO habits (id, habit, name, day, value, unit, note, provenance, created_at) VALUES (?,?,?,?,?,?,?,?,?)`,
		e.ID, e.Habit, foldName(e.Habit), e.Day, e.Value, e.Unit, e.Note, string(e.Provenance), store.Millis(e.CreatedAt))
	if err != nil {
		return fmt.Errorf("habits: add entry: %w", err)
	}
	return nil
}

func queryEntries(q store.Querier, tail string, args ...any) (out []Entry, err error) {
	rows, err := q.Query(`SELECT id, habit, day, value, unit, note, provenance, created_at FROM habits `+tail, args...)
	if err != nil {
		return nil, fmt.Errorf("habits: read entries: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out = []Entry{}
	for rows.Next() {
		var e Entry
		var created int64
		if err := rows.Scan(&e.ID, &e.Habit, &e.Day, &e.Value, &e.Unit, &e.Note, &e.Provenance, &created); err != nil {
			return nil, fmt.Errorf("habits: read entries: %w", err)
		}
		e.CreatedAt = store.Time(created)
		out = append(out, e)
	}
	return out, rows.Err()
}

// Streak describes one habit.
type Streak struct {
	Habit   string `json:"habit"`
	Current int    `json:"current"` // length in days of the streak up to today or yesterday
	Longest int    `json:"longest"`
	Total   int    `json:"total"` // number of days
	Last    string `json:"last"`  // YYYY-MM-DD
	Today   bool   `json:"today"` // done today
	// Source is Outside if an entry is untrusted.
	Source provenance.Source `json:"-"`
}

// streakOf computes the streak from distinct days in ascending order.
func streakOf(habit string, days []string, today time.Time) (Streak, error) {
	s := Streak{Habit: habit, Total: len(days)}
	run := 0
	var last time.Time
	for _, d := range days {
		at, err := time.Parse(time.DateOnly, d)
		if err != nil {
			return s, fmt.Errorf("habits: day %q: %w", d, err)
		}
		if run > 0 && last.AddDate(0, 0, 1).Equal(at) {
			run++
		} else {
			run = 1
		}
		last = at
		s.Longest = max(s.Longest, run)
	}
	if len(days) == 0 {
		return s, nil
	}
	s.Last = days[len(days)-1]
	now := time.Date(today.Year(), today.Month(), today.Day(), 0, 0, 0, 0, time.UTC)
	s.Today = last.Equal(now)
	if s.Today || last.AddDate(0, 0, 1).Equal(now) {
		s.Current = run
	}
	return s, nil
}

// Brief is the section for habits in the daily briefing.
type Brief struct{ Deps }

// BriefTitle implements tools.BriefSource.
func (Brief) BriefTitle() string { return "Habits" }

// Brief implements tools.BriefSource. It returns the streaks that will break today unless they are
// continued.
func (b Brief) Brief(ctx context.Context, from, _ time.Time) ([]tools.BriefItem, error) {
	list, err := queryStreaks(b.Store.Reader(ctx), "", from)
	if err != nil {
		return nil, err
	}
	var out []tools.BriefItem
	for _, s := range list {
		if s.Current >= 2 && !s.Today {
			out = append(out, tools.BriefItem{Text: fmt.Sprintf("%s: %d days in a row, not done yet today", s.Habit, s.Current), Source: s.Source})
		}
	}
	return out, nil
}

func queryStreaks(q store.Querier, habit string, today time.Time) ([]Streak, error) {
	all, err := queryEntries(q, `WHERE day <= ? AND (? = '' OR name = ?) ORDER BY name, day`, today.Format(time.DateOnly), foldName(habit), foldName(habit))
	if err != nil {
		return nil, err
	}
	out := []Streak{}
	for i := 0; i < len(all); {
		name := foldName(all[i].Habit)
		var days []string
		label, source := all[i].Habit, provenance.Tool
		for ; i < len(all) && foldName(all[i].Habit) == name; i++ {
			label = all[i].Habit
			if all[i].Provenance.Tainted() {
				source = provenance.Outside
			}
			if len(days) == 0 || days[len(days)-1] != all[i].Day {
				days = append(days, all[i].Day)
			}
		}
		s, err := streakOf(label, days, today)
		if err != nil {
			return nil, err
		}
		s.Source = source
		out = append(out, s)
	}
	return out, nil
}
