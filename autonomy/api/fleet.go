package api

import (
	"context"
	"time"
)

// Fleet describes the processes that share the database.
type Fleet interface {
	// Instances lists the instances of the last 7 days, by name. A process that does not share its
	// database is the only one.
	Instances(ctx context.Context) ([]Instance, error)
}

// Instance is one process of a fleet.
type Instance struct {
	Instance string    `json:"instance"`
	Host     string    `json:"host"`
	Version  string    `json:"version"`
	State    string    `json:"state" schema:"enum=live|late|ended"` // late: its lease has ended, and no other instance has taken over yet
	Started  time.Time `json:"started"`
	Seen     time.Time `json:"seen"` // last renewal of its lease, by the clock of the database
	// LeaderOf lists what only this instance does: clock, watchers, channel:NAME and others.
	LeaderOf []string `json:"leader_of"`
	// Claimed is the number of events that it is working on.
	Claimed int `json:"claimed"`
	// LagMS is the age of its last renewal in milliseconds.
	LagMS int64 `json:"lag_ms"`
	// Self reports whether this instance answered the request.
	Self bool `json:"self"`
}
