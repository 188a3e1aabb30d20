//go:build mcpconformance

package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The fixtures of the conformance suite are those of the SDK's own test server. They are not in this
// repository: TestMCPConformance adds them to this package with an overlay.

func addFixtures(s *mcp.Server) {
	registerTools(s)
	registerResources(s)
	registerPrompts(s)
	go watchedResourceUpdater(context.Background(), s)
}

func addFixtureOptions(o *mcp.ServerOptions) {
	o.CompletionHandler, o.SubscribeHandler, o.UnsubscribeHandler = completionHandler, subscribeHandler, unsubscribeHandler
	o.Capabilities.Logging = &mcp.LoggingCapabilities{}
}
