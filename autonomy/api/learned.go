package api

import (
	"context"
	"time"

	"hob/platform/provenance"
)

// Learned is what Hob learned: lessons, and entries about the user.
type Learned interface {
	// Lessons lists the lessons in use; with Query.All also retired ones.
	Lessons(ctx context.Context, q Query) ([]Lesson, error)
	ChangeLesson(ctx context.Context, id string, c LearnedChange) (Lesson, error)
	UserEntries(ctx context.Context) ([]UserEntry, error)
	ChangeUserEntry(ctx context.Context, id string, c LearnedChange) (UserEntry, error)
}

// LearnedChange is one change of an entry. Exactly one field is set.
type LearnedChange struct {
	Text   string `json:"text,omitempty"` // the new wording
	Retire bool   `json:"retire,omitempty"`
	Delete bool   `json:"delete,omitempty"`
}

// Lesson is one stored lesson.
type Lesson struct {
	ID         string            `json:"id"`
	Kind       string            `json:"kind"`
	Text       string            `json:"text"`
	State      string            `json:"state"`
	Confidence int               `json:"confidence"` // 1 to 10; used from 3
	Evidence   int               `json:"evidence"`   // number of observations
	Uses       int               `json:"uses"`       // number of requests that contained it
	Realm      string            `json:"realm,omitempty"`
	Provenance provenance.Source `json:"provenance"`
	Event      string            `json:"event"` // event in which it was last observed
	Session    string            `json:"session"`
	CreatedAt  time.Time         `json:"created_at"`
	SeenAt     time.Time         `json:"seen_at"` // when it was last observed or used
	RetiredAt  time.Time         `json:"retired_at,omitzero"`
	RetiredBy  string            `json:"retired_by,omitempty"`
}

// UserEntry is one fact about the owner.
type UserEntry struct {
	ID   string `json:"id"`
	What string `json:"what"` // name, language, like, dislike, channel, hours
	Text string `json:"text"`
	// SaidBy is "owner" for a message, "edit" for an entry edited by hand, and "hob" for a
	// count.
	SaidBy   string    `json:"said_by"`
	At       time.Time `json:"at,omitzero"` // time of the statement or of the last count
	Event    string    `json:"event,omitempty"`
	Session  string    `json:"session,omitempty"`
	Channel  string    `json:"channel,omitempty"`
	Messages int       `json:"messages,omitempty"` // number of messages counted
	// Hours counts messages by weekday (from Sunday) and hour.
	Hours *[7][24]int `json:"hours,omitempty"`
	Zone  string      `json:"zone,omitempty"`
}
