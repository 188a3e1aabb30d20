package servers

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

//go:embed known/*.toml
var knownFiles embed.FS

// Known is a well-known server.
type Known struct {
	Name    string            `toml:"-"` // the name of its file
	Title   string            `toml:"title"`
	Advice  string            `toml:"advice"` // one sentence for the user
	Words   []string          `toml:"words"`  // other names of the service, in lower case
	URL     string            `toml:"url"`
	Command string            `toml:"command"`
	Args    []string          `toml:"args"`   // {folder} is a placeholder for a folder that the user chooses
	OAuth   bool              `toml:"oauth"`  // the user signs in with `hob mcp login`
	Secret  *KnownSecret      `toml:"secret"` // nil if none is needed
	Effects map[string]string `toml:"effects"`
}

// KnownSecret is the secret that a server needs.
type KnownSecret struct {
	Env    string `toml:"env"`    // variable of the program that receives the secret
	Header string `toml:"header"` // or header of the requests that contains the secret
	Prefix string `toml:"prefix"` // text before the secret, such as "Bearer "
	Label  string `toml:"label"`
	Page   string `toml:"page"` // page on which the user gets the secret
}

// Folder is the placeholder for a folder in the arguments of a known server.
const Folder = "{folder}"

// List returns the known servers, sorted by name.
func List() []Known { return slices.Clone(knownList()) }

// Find returns the known server called name.
func Find(name string) (Known, bool) {
	i := slices.IndexFunc(knownList(), func(k Known) bool { return k.Name == strings.ToLower(name) })
	if i < 0 {
		return Known{}, false
	}
	return knownList()[i], true
}

// knownList decodes the files once; most commands never need them.
var knownList = sync.OnceValue(func() []Known {
	files, err := knownFiles.ReadDir("known")
	if err != nil { // the files are part of the program, and a test decodes them
		panic(err)
	}
	var out []Known
	for _, f := range files {
		text, err := knownFiles.ReadFile(path.Join("known", f.Name()))
		if err != nil {
			panic(err)
		}
		k := Known{Name: strings.TrimSuffix(f.Name(), ".toml")}
		if err := toml.Unmarshal(text, &k); err != nil {
			panic(fmt.Sprintf("servers: %s: %v", f.Name(), err))
		}
		out = append(out, k)
	}
	return out
})

// NeedsFolder reports whether the user must choose a folder.
func (k Known) NeedsFolder() bool { return slices.Contains(k.Args, Folder) }

// Server returns the server to add under a name. secret is the secret or a reference to it; if it
// is empty, the server is added with a reference to a secret that the user stores later. A
// reference must include the prefix of the secret, such as "Bearer ".
func (k Known) Server(name, secret string, isReference bool, folders []string) Server {
	s := Server{Name: name, URL: k.URL, Command: k.Command, Effects: k.Effects, Folders: folders, Notes: []string{k.Advice}}
	for _, a := range k.Args {
		if a == Folder {
			s.Args = append(s.Args, folders...)
			continue
		}
		s.Args = append(s.Args, a)
	}
	if k.Secret == nil {
		return s
	}
	key, list := k.Secret.Env, &s.Env
	if k.Secret.Header != "" {
		key, list = k.Secret.Header, &s.Headers
	}
	switch {
	case secret == "":
		hint := k.Secret.Label + " from " + k.Secret.Page
		if k.Secret.Prefix != "" {
			hint += fmt.Sprintf(", with %q before it", k.Secret.Prefix)
		}
		s.Missing = map[string]string{key: hint}
	case !isReference && !strings.HasPrefix(secret, k.Secret.Prefix):
		secret = k.Secret.Prefix + secret
	}
	*list = map[string]string{key: secret}
	return s
}
