package app

import (
	"hob/autonomy/api"
	"hob/cmd/hob/internal/channel"
	"hob/cmd/hob/internal/doctor"
)

// This file converts the engine's types to those of the API. TestAPITypes checks that both have the
// same JSON.

func apiFinding(x doctor.Check) api.Finding {
	return api.Finding{
		Name:    x.Name,
		State:   string(x.State),
		Cause:   x.Cause,
		Remedy:  x.Remedy,
		Link:    x.Link,
		Fixable: x.Fixable,
		Fixed:   x.Fixed,
		In:      x.In,
	}
}

// apiChannel converts a channel without its pairings.
func apiChannel(x channel.Row) api.Channel {
	return api.Channel{
		Name:        x.Name,
		State:       x.State,
		Error:       x.Error,
		Pull:        x.Pull,
		Deaf:        x.Deaf,
		Sent:        x.Sent,
		Since:       x.Since,
		Describe:    x.Describe,
		Heard:       x.Heard,
		HeardAt:     x.HeardAt,
		SentAt:      x.SentAt,
		Refused:     x.Refused,
		Unmentioned: x.Unmentioned,
		Queued:      x.Queued,
		Next:        x.Next,
		About:       x.About,
		Configured:  x.Configured,
		Enabled:     x.Enabled,
		Available:   x.Available,
		Cause:       x.Cause,
		Remedy:      x.Remedy,
		Pairings:    []api.Pairing{},
	}
}
