// Package minitmpl executes template files like text/template, but without method calls. If a
// program can call methods by names that are known only at run time, the linker must keep every
// exported method of every type, which makes the program 8 MB larger
// (cmd/link/internal/ld/deadcode.go, "reflectSeen").
//
// Text is parsed with text/template/parse. The package supports {{.Field}}, chains of fields, map
// keys, variables, {{if}}, {{with}}, {{range}}, {{template}}, {{define}}, and, or, not, eq, ne,
// len, printf, and custom functions. A field may contain a function. The package does not support
// methods, break, continue and ordered comparison.
package minitmpl

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"reflect"
	"text/template/parse"
)

// Funcs maps names to the functions that templates can call.
type Funcs map[string]any

// Template is a parsed template together with the templates that it defines. It may be used
// concurrently.
type Template struct {
	name  string
	trees map[string]*parse.Tree
	funcs Funcs
}

// names lists the built-in functions for the parser. Type execution implements them.
var names = map[string]any{"and": true, "or": true, "not": true, "eq": true, "ne": true, "len": true, "printf": true}

// Parse parses text as a template.
func Parse(text string, own ...Funcs) (*Template, error) {
	t := &Template{name: "text", trees: map[string]*parse.Tree{}, funcs: Funcs{}}
	for _, f := range own {
		for name, fn := range f {
			t.funcs[name] = fn
		}
	}
	return t, t.addTemplates("text", text)
}

// ParseFS parses the files that match pattern. The name of each template is the last element of the
// file's path.
func ParseFS(files fs.FS, pattern string) (*Template, error) {
	found, err := fs.Glob(files, pattern)
	if err != nil || len(found) == 0 {
		return nil, errors.Join(err, fmt.Errorf("minitmpl: no file matches %s", pattern))
	}
	t := &Template{trees: map[string]*parse.Tree{}}
	for _, f := range found {
		text, err := fs.ReadFile(files, f)
		if err != nil {
			return nil, fmt.Errorf("minitmpl: read a template: %w", err)
		}
		if err := t.addTemplates(path.Base(f), string(text)); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Must returns t, or panics if err is not nil. Use it for embedded templates.
func Must(t *Template, err error) *Template {
	if err != nil {
		panic(err)
	}
	return t
}

func (t *Template) addTemplates(name, text string) error {
	trees, err := parse.Parse(name, text, "", "", names, t.funcs)
	if err != nil {
		return fmt.Errorf("minitmpl: parse a template: %w", err)
	}
	for n, tree := range trees {
		if old := t.trees[n]; old == nil || !parse.IsEmptyTree(tree.Root) {
			t.trees[n] = tree
		}
	}
	return nil
}

// Execute executes the template with data and writes the result to w.
func (t *Template) Execute(w io.Writer, data any) error { return t.ExecuteTemplate(w, t.name, data) }

// ExecuteTemplate executes the template with that name.
func (t *Template) ExecuteTemplate(w io.Writer, name string, data any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			stop, is := p.(executionError)
			if !is {
				panic(p)
			}
			err = fmt.Errorf("minitmpl: %s: %w", name, stop.err)
		}
	}()
	f := &execution{t: t, w: w}
	f.runTemplate(name, reflect.ValueOf(data))
	return nil
}

// executionError is the panic value that ends an execution with an error.
type executionError struct{ err error }

func failExecution(format string, args ...any) { panic(executionError{fmt.Errorf(format, args...)}) }
