package templates

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"hob/platform/text/sorting"
)

// builtins holds builtin/NAME/template.toml and SOUL.md.
//
//go:embed builtin/*/template.toml builtin/*/SOUL.md
var builtins embed.FS

// Builtins returns the built-in templates, sorted by name.
func Builtins() ([]*Template, error) {
	list, err := fs.ReadDir(builtins, "builtin")
	if err != nil {
		return nil, err
	}
	var out []*Template
	for _, d := range list {
		t, err := readBuiltin(d.Name())
		if err != nil {
			return nil, fmt.Errorf("the built-in template %s: %w", d.Name(), err)
		}
		out = append(out, t)
	}
	sorting.ByFunc(out, func(a, b *Template) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// BuiltinNames returns the names of the built-in templates, sorted.
func BuiltinNames() (out []string) {
	list, _ := fs.ReadDir(builtins, "builtin") // embedded, so it never fails
	for _, d := range list {
		out = append(out, d.Name())
	}
	return out
}

// IsBuiltin reports whether name is the name of a built-in template.
func IsBuiltin(name string) bool {
	if CheckName(name) != nil {
		return false
	}
	_, err := fs.Stat(builtins, "builtin/"+name)
	return err == nil
}

func readBuiltin(name string) (*Template, error) {
	f := files{}
	for _, file := range []string{manifestFile, soulFile} {
		b, err := builtins.ReadFile("builtin/" + name + "/" + file)
		if err != nil {
			return nil, err
		}
		f[file] = b
	}
	t, err := f.parseTemplate(Builtin, "")
	if err == nil && t.Name != name {
		err = fmt.Errorf("the folder is not named %q", t.Name)
	}
	return t, err
}
