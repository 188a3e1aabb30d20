//go:build !mcpconformance

package mcpserver

import "github.com/modelcontextprotocol/go-sdk/mcp"

// addFixtures adds nothing: only a test build has the fixtures of the conformance suite.
func addFixtures(*mcp.Server) {}
