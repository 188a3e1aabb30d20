package api

import (
	"context"
	"time"
)

// Channels are the ways to reach the user, and the user's accounts on them.
type Channels interface {
	Channels(ctx context.Context) ([]Channel, error)
	// Pair creates a code with which the user pairs an account on a channel; Unpair removes a
	// pairing. by is the auth method.
	Pair(ctx context.Context, channel, by string) (PairingCode, error)
	Unpair(ctx context.Context, pairing, by string) (Pairing, error)
	// TestChannel signs in to a channel as it is configured now and optionally sends the user
	// one text. Problems are part of the result, not an error.
	TestChannel(ctx context.Context, channel string, send bool) (ChannelTest, error)
}

// Channel is a channel as lists show it.
type Channel struct {
	Name string `json:"name"`
	// State is starting, running, waiting (failed, will be retried), stopped (needs its owner)
	// or failed (could not be created).
	State string    `json:"state"`
	Error string    `json:"error,omitempty"`
	Pull  bool      `json:"pull"`
	Deaf  bool      `json:"deaf,omitempty"` // send only: accepts no messages
	Sent  int       `json:"sent"`
	Since time.Time `json:"since,omitzero"`
	// Describe is the channel's own description.
	Describe string `json:"describe,omitempty"`
	// Heard counts the messages accepted since the start. Refused counts those of unknown
	// senders and those in groups that were not addressed to Hob.
	Heard       int       `json:"heard"`
	HeardAt     time.Time `json:"heard_at,omitzero"`
	SentAt      time.Time `json:"sent_at,omitzero"`
	Refused     int       `json:"refused,omitempty"`
	Unmentioned int       `json:"unmentioned,omitempty"`
	// Queued counts the texts waiting for the channel. Next is when the first of them is sent;
	// zero: none waits, or immediately.
	Queued     int       `json:"queued"`
	Next       time.Time `json:"next,omitzero"`
	About      string    `json:"about"`
	Configured bool      `json:"configured"` // it is always there, or has a section
	Enabled    bool      `json:"enabled"`
	Available  bool      `json:"available"` // it works on this machine
	Cause      string    `json:"cause,omitempty"`
	Remedy     string    `json:"remedy,omitempty"`
	Pairings   []Pairing `json:"pairings"`
}

// Pairing is one account of the owner.
type Pairing struct {
	ID        string    `json:"id"`
	Channel   string    `json:"channel"`
	Sender    string    `json:"sender"`
	Name      string    `json:"name,omitempty"` // as the platform reports it; proves nothing
	Chat      string    `json:"chat,omitempty"`
	By        string    `json:"by"` // where the code was made
	CreatedAt time.Time `json:"created_at"`
}

// PairingCode is the code that the owner types on the channel.
type PairingCode struct {
	Channel   string    `json:"channel"`
	Code      string    `json:"code"`
	ExpiresAt time.Time `json:"expires_at"`
}

// ChannelTest is the result of a channel test.
type ChannelTest struct {
	Channel string `json:"channel"`
	OK      bool   `json:"ok"`
	// Tried: there was something to sign in to, or a text was sent.
	Tried  bool   `json:"tried"`
	Said   string `json:"said,omitempty"`
	Cause  string `json:"cause,omitempty"`
	Remedy string `json:"remedy,omitempty"`
}
