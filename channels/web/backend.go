package web

import (
	"hob/autonomy/api"
	"hob/channels"
)

// Backend contains the operations that the HTTP API serves; the composition root provides it.
type Backend interface {
	channels.Receiver

	api.Agents
	api.Approvals
	api.Audit
	api.Channels
	api.Deliveries
	api.Doctor
	api.Documents
	api.Explanations
	api.Feed
	api.Forgetting
	api.Goals
	api.Learned
	api.Management
	api.Memory
	api.Notes
	api.Notices
	api.Sessions
	api.Tasks
	api.Tools
	api.Triggers
	api.Turns
	api.Undo
	api.Usage
	api.Watchers
}
