//go:build !mcpconformance

package mcpserver

import "github.com/modelcontextprotocol/go-sdk/mcp"

// addFixtures and addFixtureOptions add nothing: only a test build has the fixtures of the
// conformance suite.
func addFixtures(*mcp.Server) {}

func addFixtureOptions(*mcp.ServerOptions) {}
