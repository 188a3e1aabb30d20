// Package web implements the HTTP API of Hob (ARCHITECTURE section 8), the OpenAI-compatible
// endpoint, and the chat page. It translates requests into calls of a Backend and is
// responsible for authentication (token, login link, Host, Origin), limits, and formats (JSON,
// server-sent events).
//
// It contains no application logic and stores nothing. The composition root creates a Server,
// binds it with Listen, and passes it to channels.Manager as the pull channel "web". The
// command line uses Client to reach the same handler in its own process when no daemon runs.
package web
