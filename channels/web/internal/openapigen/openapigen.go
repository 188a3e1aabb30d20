// Package openapigen writes an OpenAPI 3.1 document from a list of operations and the Go types of
// their requests and responses. It gets the types by reflection and the descriptions from the
// comments in the source files. It is used only by the test in channels/web that keeps openapi.json
// current, so it is not part of the program.
package openapigen

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Document is the input of Generate.
type Document struct {
	Root, Module string   // folder and path of the Go module
	Plain        []string // packages whose types keep their names; other types are prefixed with their package name
	// Head holds the members before "paths". Security holds the members of
	// components.securitySchemes.
	Head, Security Object
	Operations     []Operation
	// Error is the body type of failed requests. Overrides holds the schemas of types with custom
	// JSON encoding.
	Error     reflect.Type
	Overrides map[reflect.Type]Object
	// Extra lists additional types to describe: types in streams, and types that Overrides refers
	// to.
	Extra []reflect.Type
}

// Operation is one HTTP method on one path.
type Operation struct {
	Method, Path, ID, Tag, Summary, Description string
	Parameters                                  []Parameter
	Request                                     *Request // nil if there is no body
	Responses                                   []Response
	Fails                                       []int // HTTP statuses of documented errors
	Access                                      List  // security requirements; nil means the requirements in Head
}

// Parameter is a path, query or header parameter.
type Parameter struct {
	Name, In, Description string
	Required              bool
	Schema                Object // nil means a string
}

// Request is the body of a request.
type Request struct {
	Required bool
	Content  []Content
}

// Response is one successful response.
type Response struct {
	Status      int
	Description string
	Content     []Content
}

// Content is a body with one media type: a value of one of Types, or text.
type Content struct {
	Media string
	Types []reflect.Type
}

type generator struct {
	root, module string
	plain        []string
	docs         map[string]*packageDocs
	names        map[reflect.Type]string
	components   map[string]Object
	overrides    map[reflect.Type]Object
}

// Generate returns the OpenAPI document as JSON.
func Generate(d Document) ([]byte, error) {
	g := &generator{
		root: d.Root, module: d.Module, plain: d.Plain, docs: map[string]*packageDocs{},
		names: map[reflect.Type]string{}, components: map[string]Object{}, overrides: d.Overrides,
	}
	paths := Object{}
	for _, o := range d.Operations {
		operation, err := g.operation(o)
		if err != nil {
			return nil, err
		}
		method := Member{strings.ToLower(o.Method), operation}
		i := slices.IndexFunc(paths, func(m Member) bool { return m.Name == o.Path })
		if i < 0 {
			paths = append(paths, Member{o.Path, Object{method}})
			continue
		}
		have, _ := paths[i].Value.(Object)
		paths[i].Value = append(have, method)
	}
	for _, t := range d.Extra {
		if _, err := g.schemaOf(t); err != nil {
			return nil, err
		}
	}
	failure, err := g.schemaOf(d.Error)
	if err != nil {
		return nil, err
	}
	schemas := Object{}
	for _, name := range slices.Sorted(maps.Keys(g.components)) {
		schemas = append(schemas, Member{name, g.components[name]})
	}
	doc := append(slices.Clone(d.Head), Member{"paths", paths}, Member{"components", Object{
		{"securitySchemes", d.Security},
		{"responses", Object{{"Error", Object{
			{"description", "The cause of the error and what to do about it."},
			{"content", Object{{"application/json", Object{{"schema", failure}}}}},
		}}}},
		{"schemas", schemas},
	}})
	return encodeDocument(doc)
}

func (g *generator) operation(o Operation) (Object, error) {
	out := Object{{"operationId", o.ID}, {"summary", o.Summary}, {"tags", List{o.Tag}}}
	if o.Description != "" {
		out = append(out, Member{"description", o.Description})
	}
	if len(o.Parameters) > 0 {
		list := List{}
		for _, p := range o.Parameters {
			list = append(list, p.object())
		}
		out = append(out, Member{"parameters", list})
	}
	if o.Request != nil {
		content, err := g.content(o.Request.Content)
		if err != nil {
			return nil, err
		}
		out = append(out, Member{"requestBody", Object{{"required", o.Request.Required}, {"content", content}}})
	}
	responses := Object{}
	for _, r := range o.Responses {
		response := Object{{"description", r.Description}}
		if len(r.Content) > 0 {
			content, err := g.content(r.Content)
			if err != nil {
				return nil, err
			}
			response = append(response, Member{"content", content})
		}
		responses = append(responses, Member{strconv.Itoa(r.Status), response})
	}
	failed := Object{{"$ref", "#/components/responses/Error"}}
	for _, status := range o.Fails {
		responses = append(responses, Member{strconv.Itoa(status), failed})
	}
	out = append(out, Member{"responses", append(responses, Member{"default", failed})})
	if o.Access != nil {
		out = append(out, Member{"security", o.Access})
	}
	return out, nil
}

func (p Parameter) object() Object {
	out := Object{{"name", p.Name}, {"in", p.In}}
	if p.Required {
		out = append(out, Member{"required", true})
	}
	if p.Description != "" {
		out = append(out, Member{"description", p.Description})
	}
	schema := p.Schema
	if schema == nil {
		schema = Object{{"type", "string"}}
	}
	return append(out, Member{"schema", schema})
}

func (g *generator) content(list []Content) (Object, error) {
	out := Object{}
	for _, c := range list {
		schema := Object{{"type", "string"}}
		if len(c.Types) > 0 {
			choices := List{}
			for _, t := range c.Types {
				choice, err := g.schemaOf(t)
				if err != nil {
					return nil, err
				}
				schema, choices = choice, append(choices, choice)
			}
			if len(choices) > 1 {
				schema = Object{{"anyOf", choices}}
			}
		}
		out = append(out, Member{c.Media, Object{{"schema", schema}}})
	}
	return out, nil
}
