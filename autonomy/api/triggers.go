package api

import (
	"context"

	"hob/platform/net/hooksig"
)

// Triggers start work when a program calls them.
type Triggers interface {
	Triggers(ctx context.Context) ([]Trigger, error)
	// Fire accepts a trigger's payload as untrusted text; key deduplicates.
	Fire(ctx context.Context, trigger, key string, payload []byte) (Fired, error)
	// TriggerSecret returns the HMAC secret of a trigger and its signature scheme, or
	// ErrNotFound if the trigger does not exist.
	TriggerSecret(trigger string) (hooksig.Secret, error)
}

// Trigger is a configured trigger.
type Trigger struct {
	ID      string `json:"id"`
	Action  string `json:"action"`
	Session string `json:"session"`
	Signed  bool   `json:"signed"` // it has a secret
}

// Fired is the result of Fire.
type Fired struct {
	Event    string `json:"event"`
	Repeated bool   `json:"repeated"` // the key was accepted before
}
