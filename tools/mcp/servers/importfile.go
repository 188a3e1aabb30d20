package servers

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"hob/platform/host/system"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/textnorm"
)

// Limits of a file to import.
const (
	MaxFile    = 4 << 20
	maxServers = 100
	maxValue   = 16 << 10
)

// fileServer is a server in the files of Claude (https://code.claude.com/docs/en/mcp), VS Code
// (https://code.visualstudio.com/docs/copilot/reference/mcp-configuration) and Cursor
// (https://cursor.com/docs/context/mcp).
type fileServer struct {
	Type      string            `json:"type"`
	Command   string            `json:"command"`
	Args      []string          `json:"args"`
	Env       map[string]any    `json:"env"`
	EnvFile   string            `json:"envFile"`
	Cwd       string            `json:"cwd"`
	URL       string            `json:"url"`
	ServerURL string            `json:"serverUrl"`
	Headers   map[string]string `json:"headers"`
	Disabled  bool              `json:"disabled"`
}

// fileInput is a value for which VS Code asks the user.
type fileInput struct {
	ID          string `json:"id"`
	Description string `json:"description"`
}

// importFile has the sections in which the programs store their servers. Sections that are not
// about servers are ignored.
type importFile struct {
	MCPServers map[string]json.RawMessage `json:"mcpServers"` // Claude, Cursor
	Servers    map[string]json.RawMessage `json:"servers"`    // VS Code: mcp.json
	Inputs     []fileInput                `json:"inputs"`
	MCP        struct {                   // VS Code: settings.json
		Servers map[string]json.RawMessage `json:"servers"`
		Inputs  []fileInput                `json:"inputs"`
	} `json:"mcp"`
	Projects map[string]struct { // ~/.claude.json
		MCPServers map[string]json.RawMessage `json:"mcpServers"`
	} `json:"projects"`
}

// Env resolves the variables and folders that a file refers to.
type Env struct {
	Home string
	// Lookup returns a variable of the environment.
	Lookup func(name string) (string, bool)
}

// Imported is a server of a file, or the reason why it cannot be added.
type Imported struct {
	Server
	Err error
}

// Parse reads a file of Claude, VS Code or Cursor. It returns the servers sorted by name. A server
// that cannot be added has an error and does not affect other servers.
func Parse(text []byte, env Env) ([]Imported, error) {
	if len(text) > MaxFile {
		return nil, errors.New("the file is larger than 4 MB")
	}
	var f importFile
	if err := json.Unmarshal(stripJSONC(text), &f); err != nil {
		return nil, fmt.Errorf("the file is not JSON: %w", err)
	}
	inputs := map[string]string{}
	for _, in := range append(f.Inputs, f.MCP.Inputs...) {
		inputs[in.ID] = textnorm.Ellipsize(textnorm.FirstLine(in.Description), 100)
	}
	found := map[string]json.RawMessage{}
	for _, list := range []map[string]json.RawMessage{f.MCPServers, f.Servers, f.MCP.Servers} {
		for name, raw := range list {
			if _, dup := found[name]; !dup {
				found[name] = raw
			}
		}
	}
	for _, project := range slices.Sorted(maps.Keys(f.Projects)) {
		for name, raw := range f.Projects[project].MCPServers {
			if _, dup := found[name]; !dup {
				found[name] = raw
			}
		}
	}
	switch {
	case len(found) == 0:
		return nil, errors.New(`the file contains no MCP servers; Claude and Cursor store servers in "mcpServers", VS Code in "servers"`)
	case len(found) > maxServers:
		return nil, fmt.Errorf("the file contains %d servers, at most %d are allowed", len(found), maxServers)
	}
	var out []Imported
	taken := map[string]bool{}
	for _, original := range slices.Sorted(maps.Keys(found)) {
		c := converter{env: env, inputs: inputs}
		name := cleanName(original)
		for i := 2; taken[strings.ToLower(name)]; i++ {
			name = fmt.Sprintf("%s-%d", textnorm.TruncateRunes(cleanName(original), 28), i)
		}
		taken[strings.ToLower(name)] = true
		s, err := c.convertServer(name, found[original])
		if s.Name = name; name != original && err == nil {
			s.Notes = append(s.Notes, fmt.Sprintf("its name in the file is %q", textnorm.Ellipsize(original, 60)))
		}
		out = append(out, Imported{s, err})
	}
	return out, nil
}

var nameRuns = lazyregexp.New(`[^A-Za-z0-9]+`)

// cleanName returns a name that config.toml accepts.
func cleanName(s string) string {
	s = strings.Trim(nameRuns.ReplaceAllString(s, "-"), "-")
	if len(s) > 32 {
		s = strings.Trim(s[:32], "-")
	}
	return cmp.Or(s, "server")
}

// converter converts one server.
type converter struct {
	env    Env
	inputs map[string]string
	hint   string // name of the last value that only the user knows
}

func (c *converter) convertServer(name string, raw json.RawMessage) (Server, error) {
	var in fileServer
	if err := json.Unmarshal(raw, &in); err != nil {
		return Server{}, fmt.Errorf("its section is not valid: %w", err)
	}
	s := Server{Name: name, Off: in.Disabled, Missing: map[string]string{}}
	var err error
	if s.Command, err = c.plainText(in.Command); err != nil {
		return Server{}, err
	}
	s.URL = cmp.Or(in.URL, in.ServerURL)
	if placeholder.MatchString(s.URL) { // a variable may contain a secret
		return Server{}, errors.New("its address contains a variable; add the server with hob mcp add NAME URL")
	}
	if s.Cwd, err = c.plainText(in.Cwd); err != nil {
		return Server{}, err
	}
	for _, a := range in.Args {
		text, err := c.plainText(a)
		if err != nil {
			return Server{}, err
		}
		s.Args = append(s.Args, text)
	}
	if s.Command != "" && s.URL != "" {
		s.URL = ""
	}
	if in.Type == "sse" {
		s.Notes = append(s.Notes, "the file uses the old SSE transport, which Hob does not support; if the connection fails, use the service's streamable HTTP address")
	}
	if in.EnvFile != "" {
		s.Notes = append(s.Notes, "variables of its envFile are not read; set them in [mcp.servers."+name+".env]")
	}
	if s.Cwd != "" && !filepath.IsAbs(s.Cwd) {
		return Server{}, fmt.Errorf("its folder %q depends on a project; add the server with hob mcp add", textnorm.Ellipsize(s.Cwd, 60))
	}
	env := map[string]string{}
	for key, v := range in.Env {
		env[key] = fmt.Sprint(v)
	}
	if s.Command != "" {
		s.Env, err = c.convertValues(env, &s)
	} else {
		s.Headers, err = c.convertValues(in.Headers, &s)
	}
	s.Notes = append(s.Notes, describeImport(s)...)
	return s, err
}

// describeImport lists what an imported server runs or connects to, and the variables that it gets,
// because another person may have written the file.
func describeImport(s Server) []string {
	out := []string{"connects to " + textnorm.Ellipsize(s.URL, 200)}
	if s.Command != "" {
		out[0] = "runs " + textnorm.Ellipsize(strings.Join(append([]string{s.Command}, s.Args...), " "), 200)
	}
	for _, list := range []map[string]string{s.Env, s.Headers} {
		for _, key := range slices.Sorted(maps.Keys(list)) {
			if name, ok := strings.CutPrefix(list[key], "env:"); ok {
				out = append(out, "gets the environment variable "+name)
			}
		}
	}
	return out
}

// convertValues converts variables or headers.
func (c *converter) convertValues(in map[string]string, s *Server) (map[string]string, error) {
	out := map[string]string{}
	for key, v := range in {
		if len(v) > maxValue || strings.ContainsRune(v, 0) {
			return nil, fmt.Errorf("the value of %q is too long", textnorm.Ellipsize(key, 60))
		}
		if system.IsReference(v) { // the author of the file would choose which secret is sent
			return nil, fmt.Errorf("the value of %q refers to a secret on this machine (%s); add the server with hob mcp add and set the reference yourself", textnorm.Ellipsize(key, 60), textnorm.Ellipsize(v, 60))
		}
		c.hint = ""
		text, err := c.expandText(v, true)
		if err != nil {
			return nil, err
		}
		if c.hint != "" {
			s.Missing[key], text = c.hint, ""
		}
		out[key] = text
	}
	return out, nil
}

// plainText expands a value that config.toml contains in plain text.
func (c *converter) plainText(s string) (string, error) {
	if len(s) > maxValue || strings.ContainsRune(s, 0) {
		return "", errors.New("a value is too long")
	}
	return c.expandText(s, false)
}

// placeholder matches ${input:x}, ${env:X}, ${X}, ${X:-default} and the names of folders.
var placeholder = lazyregexp.New(`\$\{([^{}]*)\}`)

// expandText replaces placeholders. A value that only the user knows becomes a hint if secret is
// true, and an error otherwise. A value that consists of one variable remains a reference to the
// variable.
func (c *converter) expandText(s string, secret bool) (string, error) {
	if m := placeholder.FindStringSubmatch(s); secret && m != nil && m[0] == s {
		if name, ok := envName(m[1]); ok {
			return "env:" + name, nil
		}
	}
	var fail error
	out := placeholder.ReplaceAllStringFunc(s, func(m string) string {
		inner := m[2 : len(m)-1]
		switch inner {
		case "userHome":
			return c.env.Home
		case "pathSeparator", "/":
			return string(filepath.Separator)
		}
		if id, ok := strings.CutPrefix(inner, "input:"); ok && secret {
			c.hint = cmp.Or(c.inputs[id], id)
			if before, after, _ := strings.Cut(s, m); before+after != "" {
				c.hint += fmt.Sprintf(" (store it as %s)", before+"VALUE"+after)
			}
			return ""
		}
		name, fallback, hasFallback := strings.Cut(inner, ":-")
		if name, ok := envName(name); ok {
			if v, ok := c.env.Lookup(name); ok {
				return v
			}
			if hasFallback {
				return fallback
			}
			if secret {
				before, after, _ := strings.Cut(s, m)
				c.hint = fmt.Sprintf("the value of the variable %s (store it as %s)", name, before+"VALUE"+after)
				return ""
			}
			fail = fmt.Errorf("the variable %s is not set; set the variable and import again", name)
			return ""
		}
		fail = fmt.Errorf("a value depends on %s, which Hob does not know; add the server with hob mcp add", textnorm.Ellipsize(m, 60))
		return ""
	})
	return out, fail
}

var validVariable = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// envName returns the name of the variable that a placeholder refers to.
func envName(s string) (string, bool) {
	name := strings.TrimPrefix(s, "env:")
	switch name {
	case "workspaceFolder", "workspaceFolderBasename", "userHome":
		return "", false
	}
	return name, validVariable.MatchString(name)
}

// stripJSONC removes comments and commas before a closing bracket, which VS Code allows.
func stripJSONC(text []byte) []byte {
	text = []byte(strings.TrimPrefix(string(text), "\uFEFF"))
	var out []byte
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '"':
			end := i + 1
			for end < len(text) && text[end] != '"' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end+1, len(text))
			out = append(out, text[i:end]...)
			i = end - 1
		case c == '/' && i+1 < len(text) && text[i+1] == '/':
			for i < len(text) && text[i] != '\n' {
				i++
			}
			out = append(out, '\n')
		case c == '/' && i+1 < len(text) && text[i+1] == '*':
			for i += 2; i < len(text) && (text[i] != '/' || text[i-1] != '*'); i++ {
			}
			out = append(out, ' ')
		case c == '}' || c == ']':
			for n := len(out) - 1; n >= 0; n-- {
				if out[n] == ',' {
					out = append(out[:n], out[n+1:]...)
					break
				}
				if !strings.ContainsRune(" \t\r\n", rune(out[n])) {
					break
				}
			}
			out = append(out, c)
		default:
			out = append(out, c)
		}
	}
	return out
}
