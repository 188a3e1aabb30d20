package store

import (
	"errors"
	"time"
)

// ErrAway means that the database cannot be reached. It may come back without any action.
var ErrAway = errors.New("the database cannot be reached")

// ErrUnknown means that the connection was lost during a commit and the database did not come back
// in time to tell whether the change was saved.
var ErrUnknown = errors.New("outcome unknown: the connection to the database was lost during the commit; check before you repeat the change")

// Away returns why the database cannot be reached at present, or nil.
func (s *Store) Away() error { return nil }

// IsShared reports whether other instances may use the database at the same time.
func (s *Store) IsShared() bool { return false }

// ClockOffset returns how far the clock of the database server is ahead of the clock of this machine.
func (s *Store) ClockOffset() time.Duration { return 0 }
