// Package learn stores what Hob has learned about working for its owner: lessons from failed tool
// calls and from the owner's corrections, and a profile of the owner (active hours, channels,
// language and preferences).
//
// It stores lessons in the transaction that ends the turn. This needs no further transaction, and
// the next turn can use them. Errors are logged and never block a message. The package stores no
// untrusted text: in a tainted turn it considers only the owner's literal words. It never calls a
// model. It does not choose the lessons for a request; package prompt does this.
package learn

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"hob/autonomy/bus"
	"hob/platform/store"
)

// ErrNotFound means that a lesson or an entry does not exist.
var ErrNotFound = errors.New("entry not found")

// Options holds the settings of a Learner. Store and Bus are required.
type Options struct {
	Store *store.Store
	Bus   *bus.Bus
	Zone  func() *time.Location // owner's time zone (default UTC)
	Log   *slog.Logger
	// Changed is called after the owner's statements may have changed. It is optional.
	Changed func()
}

// Learner stores and finds lessons. Its methods may be called concurrently.
type Learner struct {
	o           Options
	corrections patterns
	preferences patterns
	languages   map[string]map[string]bool

	mu      sync.Mutex
	version int      // version of the tables
	lessons []Lesson // all lessons that are not retired; nil means that they must be read again
	wishes  []Preference
	loaded  bool
}

// New returns a Learner after checking the options.
func New(o Options) (*Learner, error) {
	if o.Store == nil || o.Bus == nil {
		return nil, errors.New("learn: Options needs Store and Bus")
	}
	if o.Zone == nil {
		o.Zone = func() *time.Location { return time.UTC }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Learner{
		o: o, languages: readLanguages(), corrections: readPatterns(correctionsText), preferences: readPatterns(preferencesText),
	}, nil
}

// Migrations returns the migrations of the package's tables.
func Migrations() store.MigrationSet {
	return store.MigrationSet{Owner: "learn", Steps: []string{`
CREATE TABLE lessons (
	id TEXT PRIMARY KEY, realm TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL, cue TEXT NOT NULL, failed TEXT NOT NULL,
	confidence INTEGER NOT NULL, evidence INTEGER NOT NULL, uses INTEGER NOT NULL DEFAULT 0, provenance TEXT NOT NULL,
	event TEXT NOT NULL, session TEXT NOT NULL, used_in TEXT NOT NULL DEFAULT '', created_at INTEGER NOT NULL, seen_at INTEGER NOT NULL,
	retired_at INTEGER NOT NULL DEFAULT 0, retired_by TEXT NOT NULL DEFAULT '') WITHOUT ROWID;
CREATE TABLE user_hours (zone TEXT NOT NULL, weekday INTEGER NOT NULL, hour INTEGER NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (zone, weekday, hour)) WITHOUT ROWID;
CREATE TABLE user_counts (what TEXT NOT NULL, name TEXT NOT NULL, n INTEGER NOT NULL, last_at INTEGER NOT NULL, PRIMARY KEY (what, name)) WITHOUT ROWID;
CREATE TABLE user_preferences (
	id TEXT PRIMARY KEY, key TEXT NOT NULL, text TEXT NOT NULL, cue TEXT NOT NULL, said_by TEXT NOT NULL, event TEXT NOT NULL, session TEXT NOT NULL,
	channel TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;
`}}
}

// Turn is a turn that has ended.
type Turn struct {
	Event, Session, Channel string
	Realm                   string
	// Text is the message. Owner reports whether Text contains the owner's literal words.
	Text  string
	Owner bool
	// Tainted reports whether the context contained untrusted text.
	Tainted bool
	At      time.Time // time of the message
	Calls   bool      // whether the turn used tools
	BuiltIn bool      // whether the built-in brain answered
	Reply   string    // the answer
}

// isAskedBack reports whether the built-in brain answered with a question, such as "Should I remember
// that ...?". What you answer decides then, so the statement itself is not stored.
func (t Turn) isAskedBack() bool {
	return t.BuiltIn && !t.Calls && strings.HasSuffix(strings.TrimSpace(t.Reply), "?")
}

// Study analyzes a message. The returned function stores the lessons and must run in the
// transaction that ends the turn. Study does all other work beforehand, because other writers wait
// during that transaction.
func (l *Learner) Study(t Turn) func(tx *store.Tx) {
	r := analyzedTurn{Turn: t}
	if t.Owner {
		r.language = l.guessLanguage(t.Text)
		for _, s := range ownSentences(t.Text) {
			if means := l.corrections.matchSentence(s); means != "" && len(r.corrections) < maxCorrections {
				r.corrections = append(r.corrections, classifiedSentence{means, s})
			}
			if means := l.preferences.matchSentence(s); means != "" && !t.isAskedBack() {
				r.preferences = append(r.preferences, classifiedSentence{means, s})
			}
		}
	}
	return func(tx *store.Tx) {
		for _, step := range []func(*store.Tx, analyzedTurn) error{l.countTx, l.correctTx, l.preferTx, l.mistakesTx} {
			if err := step(tx, r); err != nil {
				l.o.Log.Warn("lessons from the turn not stored", "event", t.Event, "err", err)
			}
		}
	}
}

// analyzedTurn is a turn with its analyzed sentences.
type analyzedTurn struct {
	Turn

	language                 string
	corrections, preferences []classifiedSentence
}

// classifiedSentence is a sentence and its meaning.
type classifiedSentence struct{ means, text string }

// changedTx clears the cache after the transaction has ended.
func (l *Learner) changedTx(tx *store.Tx) {
	tx.AfterCommit(func() {
		l.mu.Lock()
		l.version++
		l.loaded = false
		l.mu.Unlock()
		if l.o.Changed != nil {
			l.o.Changed()
		}
	})
}

// activeRows returns the active lessons and the preferences.
func (l *Learner) activeRows(ctx context.Context) ([]Lesson, []Preference, error) {
	l.mu.Lock()
	lessons, wishes, loaded, version := l.lessons, l.wishes, l.loaded, l.version
	l.mu.Unlock()
	if loaded {
		return lessons, wishes, nil
	}
	r := l.o.Store.Reader(ctx)
	lessons, err := lessonsOf(r, `WHERE retired_at = 0`)
	if err != nil {
		return nil, nil, err
	}
	wishes, err = preferencesOf(r, "")
	if err != nil {
		return nil, nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.version == version {
		l.lessons, l.wishes, l.loaded = lessons, wishes, true
	}
	return lessons, wishes, nil
}
