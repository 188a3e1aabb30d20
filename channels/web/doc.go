// Package web is the HTTP API of Hob (ARCHITECTURE section 8), the
// OpenAI-compatible endpoint, and the chat page. It turns requests into calls
// of a Backend and owns nothing but the ways in: who may ask (token, login
// link, Host, Origin), how much (limits), and in which form (JSON, server-sent
// events).
//
// It does not think, keep or decide anything. The composition root makes a
// Server, binds it with Listen, and gives it to channels.Manager as the channel
// "web", whose clients pull. The command line uses Client to reach the same
// handler inside its own process when no daemon runs.
package web
