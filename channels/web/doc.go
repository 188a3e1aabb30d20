// Package web implements Hob's HTTP API (described in openapi.json), the OpenAI-compatible
// endpoint, and the chat page. It translates requests into calls to a Backend and is responsible
// for authentication (token, login link, Host, Origin), limits, and formats (JSON, server-sent
// events).
//
// It contains no application logic and stores nothing. The composition root creates a Server, binds
// it with Listen, and passes it to channels.Manager as the pull channel "web". If no daemon runs,
// the command line uses Server.Client to reach the same handler in its own process.
//
// routeTable lists the routes with their types; openapi.json is generated from it. Package
// apiclient is the client for this API.
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
	api.Canvas
	api.Channels
	api.ClientCalls
	api.Clients
	api.Deliveries
	api.Doctor
	api.Documents
	api.Explanations
	api.Feed
	api.Fleet
	api.Forgetting
	api.Goals
	api.Learned
	api.MCP
	api.Management
	api.Memory
	api.Notes
	api.Notices
	api.Sessions
	api.Settings
	api.PageSetup
	api.Skills
	api.Spending
	api.Tasks
	api.Timeline
	api.Tools
	api.Triggers
	api.Turns
	api.Undo
	api.Usage
	api.WatcherPlanning
	api.Watchers
}
