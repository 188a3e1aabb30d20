package config

import (
	"cmp"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"hob/platform/host/system"
	"hob/platform/text/lazyregexp"
)

// MCP is the section [mcp].
type MCP struct {
	Server  MCPOffer             `toml:"server"`
	Servers map[string]MCPServer `toml:"servers"`
}

// MCPOffer is the section [mcp.server]: what Hob offers to MCP clients.
type MCPOffer struct {
	Tools []string `toml:"tools"` // the tools that clients may call; empty means none
}

// MCPTools returns the tools that MCP clients of Hob may call, sorted by name.
func (c *Config) MCPTools() []string {
	return slices.Compact(slices.Sorted(slices.Values(c.file.MCP.Server.Tools)))
}

// MCPServer is one [mcp.servers.NAME] section: a server of the Model Context Protocol whose tools
// Hob uses. Either Command or URL is set. Folders and Cwd are absolute paths.
type MCPServer struct {
	Name         string   `toml:"-"`
	Enabled      bool     `toml:"enabled"` // default true
	Command      string   `toml:"command"`
	Args         []string `toml:"args"`
	Cwd          string   `toml:"cwd"`     // "" means a folder of Hob
	Sandbox      bool     `toml:"sandbox"` // default true
	Network      bool     `toml:"network"` // default true; only a sandbox can keep a program off the network
	Folders      []string `toml:"folders"` // folders that a sandboxed program may change
	URL          string   `toml:"url"`
	ClientID     string   `toml:"client_id"` // OAuth client; "" means that Hob registers itself
	ClientSecret string   `toml:"client_secret"`
	Issuer       string   `toml:"issuer"` // the only authorization server that gets ClientSecret; "" means the authorization server of the first login
	Scopes       []string `toml:"scopes"`
	Timeout      Duration `toml:"timeout"` // time limit of one call; default defaultMCPTimeout
	// Env and Headers hold values or references to secrets. Effects holds the names of a tool's
	// effects, joined by "+".
	Env     map[string]string `toml:"env"`
	Headers map[string]string `toml:"headers"`
	Effects map[string]string `toml:"effects"`
	// Document and Query are set only for a section [openapi.NAME]; see OpenAPI.
	Document string            `toml:"-"`
	Query    map[string]string `toml:"-"`
}

// Section returns the dotted name of the section.
func (s MCPServer) Section() string {
	if s.Document != "" {
		return "openapi." + s.Name
	}
	return "mcp.servers." + s.Name
}

// OpenAPI is one [openapi.NAME] section: a service with an OpenAPI document, whose operations Hob
// uses like the tools of an MCP server. MCPServers includes it.
type OpenAPI struct {
	Enabled  bool              `toml:"enabled"`  // default true
	Document string            `toml:"document"` // an absolute path, or an address
	URL      string            `toml:"url"`      // the base of all requests
	Timeout  Duration          `toml:"timeout"`
	Headers  map[string]string `toml:"headers"`
	Query    map[string]string `toml:"query"`
	Effects  map[string]string `toml:"effects"`
}

const (
	defaultMCPTimeout = time.Minute
	maxMCPTimeout     = time.Hour
)

var (
	validMCPName = lazyregexp.New(`^[A-Za-z0-9](_?[A-Za-z0-9-])*$`)
	validEnvName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	validMCPTool = lazyregexp.New(`^[A-Za-z0-9_.-]{1,128}$`)
)

// EffectNames returns the names of the effects in [mcp.servers.NAME.effects].
func EffectNames() []string {
	return []string{"read", "write", "send", "egress", "exec", "destroy", "secret"}
}

// MCPServers returns the sections [mcp.servers.NAME] and then [openapi.NAME], each in file order.
func (c *Config) MCPServers() []MCPServer { return c.mcpServers }

func (c *Config) indexMCP() {
	for _, n := range c.doc.subsectionNames("mcp", "servers") {
		s, ok := c.file.MCP.Servers[n]
		if !ok {
			continue
		}
		for key, v := range map[string]*bool{"enabled": &s.Enabled, "sandbox": &s.Sandbox, "network": &s.Network} {
			if c.doc.findEntry([]string{"mcp", "servers", n, key}) == nil {
				*v = true // the default for a section whose name the user chooses
			}
		}
		if s.Timeout.Duration == 0 {
			s.Timeout.Duration = defaultMCPTimeout
		}
		c.file.MCP.Servers[n] = s
		s.Name = n
		c.mcpServers = append(c.mcpServers, s)
	}
	for _, n := range c.doc.subsectionNames("openapi") {
		o, ok := c.file.OpenAPI[n]
		if !ok {
			continue
		}
		if c.doc.findEntry([]string{"openapi", n, "enabled"}) == nil {
			o.Enabled = true
		}
		if o.Timeout.Duration == 0 {
			o.Timeout.Duration = defaultMCPTimeout
		}
		if abs, err := system.Expand(o.Document); err == nil && o.Document != "" && !strings.Contains(o.Document, "://") {
			o.Document = abs
		}
		c.file.OpenAPI[n] = o
		// A section without a document is an error, which checkMCP reports for the section.
		c.mcpServers = append(c.mcpServers, MCPServer{Name: n, Enabled: o.Enabled, URL: o.URL, Timeout: o.Timeout, Headers: o.Headers, Effects: o.Effects, Document: cmp.Or(o.Document, "?"), Query: o.Query})
	}
}

// checkDocument checks the keys that only an [openapi.NAME] section has.
func (k *checker) checkDocument(key string, s *MCPServer) {
	address := strings.HasPrefix(s.Document, "https://") || strings.HasPrefix(s.Document, "http://")
	k.requireValid(key+".document", address || filepath.IsAbs(s.Document), `must be the full path or the address of an OpenAPI 3 document, such as "~/shop.yaml"`)
	u, err := url.Parse(s.URL)
	k.requireValid(key+".url", err == nil && u.RawQuery == "" && s.URL != "", `must be the base address of the service, such as "https://api.example.org/v1"`)
	for name := range s.Query {
		k.requireValid(key+".query", oneLine(name) && len(name) <= 100, "%q is not a valid parameter", name)
	}
}

// checkMCP checks the sections [mcp.server] and [mcp.servers.NAME]. A missing program or an
// unreachable address is reported when the server is used.
func (k *checker) checkMCP() {
	for _, name := range k.c.MCPTools() {
		k.requireValid("mcp.server.tools", validMCPTool.MatchString(name), "contains %q, which is not the name of a tool; see: hob tool list", name)
	}
	var seen []string
	for i := range k.c.mcpServers {
		s := &k.c.mcpServers[i]
		key := s.Section()
		if s.Document != "" {
			k.checkDocument(key, s)
		}
		k.requireValid(key, validMCPName.MatchString(s.Name) && len(s.Name) <= 32, "a name may contain only letters, digits, - and single _, and may be at most 32 characters long")
		folded := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s.Name))
		k.requireValid(key, !slices.Contains(seen, folded), "another server has almost the same name; rename one of them")
		seen = append(seen, folded)
		k.requireValid(key, s.Document != "" || (s.Command == "") != (s.URL == ""), `set either command (a program) or url (an address)`)
		k.requireValid(key+".command", s.Command == "" || oneLine(s.Command), "must be a program on one line; put its arguments into args")
		k.requireValid(key+".args", !slices.ContainsFunc(s.Args, func(a string) bool { return strings.ContainsRune(a, 0) }), "must not contain a zero byte")
		if s.URL != "" {
			u, err := url.Parse(s.URL)
			k.requireValid(key+".url", err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && u.Fragment == "", `must be an address such as "https://mcp.example.org/mcp", without a password`)
			issuer, err := url.Parse(s.Issuer)
			k.requireValid(key+".issuer", s.Issuer == "" || err == nil && (issuer.Scheme == "https" || issuer.Scheme == "http") && issuer.Host != "" && issuer.User == nil, `must be the address of the authorization server, such as "https://login.example.org"`)
			k.requireValid(key+".env", len(s.Env) == 0, "only a program (command) has an environment; use headers")
		} else {
			k.requireValid(key+".headers", len(s.Headers) == 0, "only an address (url) has headers; use env")
		}
		for name, v := range s.Env {
			k.requireValid(key+".env", validEnvName.MatchString(name) && !strings.ContainsRune(v, 0), "%q is not a name of a variable", name)
			k.requireValid(key+".env", !strings.HasPrefix(strings.ToUpper(name), "HOB_"), "%q is a variable of Hob; choose another name", name)
		}
		for name, v := range s.Headers {
			k.requireValid(key+".headers", httpguts.ValidHeaderFieldName(name) && httpguts.ValidHeaderFieldValue(v), "%q is not a valid header", name)
		}
		for tool, v := range s.Effects {
			k.requireValid(key+".effects", validMCPTool.MatchString(tool), "%q is not a name of a tool", tool)
			for _, e := range strings.Split(v, "+") {
				k.oneOf(key+".effects."+quoteKey(tool), e, EffectNames()...)
			}
		}
		k.requireValid(key+".timeout", s.Timeout.Duration >= time.Second && s.Timeout.Duration <= maxMCPTimeout, `must be between "1s" and "1h"`)
		s.Folders = k.expandFolders(key+".folders", s.Folders)
		if s.Cwd != "" {
			abs, err := system.Expand(s.Cwd)
			k.requireValid(key+".cwd", err == nil && filepath.IsAbs(abs), `must be a full path such as "~/work"`)
			s.Cwd = abs
		}
	}
}
