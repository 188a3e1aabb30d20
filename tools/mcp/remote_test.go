package mcp

import (
	"testing"

	"hob/autonomy/config"
	"hob/tools"
)

func TestNewTool_MarksToolsWhoseServerPassesArgumentsOn(t *testing.T) {
	program := config.MCPServer{Name: "x", Command: "x", Sandbox: true, Network: true}
	offline, trusted := program, program
	offline.Network, trusted.Sandbox = false, false
	for name, tt := range map[string]struct {
		cfg  config.MCPServer
		kind string
		want bool
	}{
		"a url":                     {config.MCPServer{Name: "x", URL: "https://example.org"}, "", true},
		"an OpenAPI document":       {config.MCPServer{Name: "x", Document: "x.json"}, "", true},
		"a program":                 {program, "", true},
		"a program without network": {offline, "", false},
		"a program without sandbox": {trusted, "", false},
		"a resource":                {program, resourceKind, true},
		"the list of resources":     {program, listKind, false},
	} {
		x := newTool(&server{cfg: tt.cfg}, &pin{spec: toolSpec{Name: "look", Kind: tt.kind}})
		if got := x.spec.Remote; got != tt.want || !x.spec.Foreign || x.spec.Effects&tools.Write != 0 {
			t.Errorf("%s: remote = %v, want %v", name, got, tt.want)
		}
	}
}
