package openapigen

import (
	"encoding"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// schemaOf returns the schema for a type. Named structs, and named strings that have constants,
// become references.
func (g *generator) schemaOf(t reflect.Type) (Object, error) {
	switch t {
	case reflect.TypeFor[time.Time]():
		return Object{{"type", "string"}, {"format", "date-time"}}, nil
	case reflect.TypeFor[json.RawMessage](), reflect.TypeFor[any]():
		return Object{}, nil // any JSON value
	case reflect.TypeFor[[]byte]():
		return Object{{"type", "string"}, {"contentEncoding", "base64"}}, nil
	}
	switch t.Kind() {
	case reflect.String:
		return g.stringSchema(t)
	case reflect.Bool:
		return Object{{"type", "boolean"}}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return Object{{"type", "integer"}}, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return Object{{"type", "integer"}, {"minimum", 0}}, nil
	case reflect.Float32, reflect.Float64:
		return Object{{"type", "number"}}, nil
	case reflect.Pointer:
		return g.schemaOf(t.Elem())
	case reflect.Slice:
		items, err := g.schemaOf(t.Elem())
		return Object{{"type", "array"}, {"items", items}}, err
	case reflect.Array:
		items, err := g.schemaOf(t.Elem())
		return Object{{"type", "array"}, {"items", items}, {"minItems", t.Len()}, {"maxItems", t.Len()}}, err
	case reflect.Map:
		values, err := g.schemaOf(t.Elem())
		return Object{{"type", "object"}, {"additionalProperties", values}}, err
	case reflect.Struct:
		return g.structSchema(t)
	}
	return nil, fmt.Errorf("%s has no schema", t)
}

func (g *generator) stringSchema(t reflect.Type) (Object, error) {
	if t.PkgPath() == "" {
		return Object{{"type", "string"}}, nil
	}
	docs, err := g.docsOf(t.PkgPath())
	if err != nil || len(docs.enums[t.Name()]) == 0 {
		return Object{{"type", "string"}}, err
	}
	schema := Object{{"type", "string"}}
	if text := docs.types[t.Name()]; text != "" {
		schema = append(schema, Member{"description", text})
	}
	return g.addComponent(t, append(schema, Member{"enum", stringList(docs.enums[t.Name()])}))
}

// structSchema returns a reference to the component of a named struct, or the schema of an unnamed
// one.
func (g *generator) structSchema(t reflect.Type) (Object, error) {
	if t.Name() == "" {
		return g.fieldsSchema(t, Object{{"type", "object"}})
	}
	if name, known := g.names[t]; known {
		return reference(name), nil
	}
	if schema, ok := g.overrides[t]; ok {
		return g.addComponent(t, schema)
	}
	if p := reflect.PointerTo(t); p.Implements(reflect.TypeFor[json.Marshaler]()) || p.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return nil, fmt.Errorf("%s has custom JSON encoding; add its schema to Overrides", t)
	}
	ref, err := g.addComponent(t, nil) // add the component before its fields, because it may contain itself
	if err != nil {
		return nil, err
	}
	docs, err := g.docsOf(t.PkgPath())
	if err != nil {
		return nil, err
	}
	schema := Object{{"type", "object"}}
	if text := docs.types[t.Name()]; text != "" {
		schema = append(schema, Member{"description", text})
	}
	if schema, err = g.fieldsSchema(t, schema); err != nil {
		return nil, err
	}
	g.components[g.names[t]] = schema
	return ref, nil
}

// fieldsSchema adds the properties of a struct to its schema. Fields without omitempty or omitzero
// are required.
func (g *generator) fieldsSchema(t reflect.Type, schema Object) (Object, error) {
	properties, required, err := g.properties(t)
	if err != nil {
		return nil, err
	}
	schema = append(schema, Member{"properties", properties})
	if len(required) > 0 {
		schema = append(schema, Member{"required", stringList(required)})
	}
	return schema, nil
}

// properties returns the fields of a struct as encoding/json sees them. The fields of an embedded
// struct are included.
func (g *generator) properties(t reflect.Type) (Object, []string, error) {
	properties, required := Object{}, []string(nil)
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
			continue
		case f.Anonymous && name == "":
			inner, needs, err := g.properties(f.Type)
			if err != nil {
				return nil, nil, err
			}
			properties, required = append(properties, inner...), append(required, needs...)
			continue
		case name == "":
			return nil, nil, fmt.Errorf("%s.%s has no json tag", t, f.Name)
		}
		optional := strings.Contains(options, "omit") || hasOption(f, "optional")
		schema, err := g.fieldSchema(t, f)
		if err != nil {
			return nil, nil, fmt.Errorf("%s.%s: %w", t, f.Name, err)
		}
		properties = append(properties, Member{name, schema})
		if !optional {
			required = append(required, name)
		}
	}
	return properties, required, nil
}

// fieldSchema returns the schema of a field with its description. The tag "schema" holds what a Go
// type cannot express, as options separated by commas. "enum=a|b" lists the values of a string, and
// "type=object" describes raw JSON. "format=date", "default=TEXT" and limits such as "minimum=1"
// are copied. "null" marks a value that may be null, and "notnull" a list or pointer that is never
// null. "optional" marks a field that a request may omit although its json tag does not say so.
func (g *generator) fieldSchema(owner reflect.Type, f reflect.StructField) (Object, error) {
	schema, err := g.schemaOf(f.Type)
	if err != nil {
		return nil, err
	}
	nullable := !strings.Contains(f.Tag.Get("json"), ",omit") && (f.Type.Kind() == reflect.Slice || f.Type.Kind() == reflect.Map || f.Type.Kind() == reflect.Pointer)
	for option := range strings.SplitSeq(f.Tag.Get("schema"), ",") {
		name, value, _ := strings.Cut(option, "=")
		switch name {
		case "", "optional":
		case "format", "default":
			schema = append(schema, Member{name, value})
		case "enum":
			schema = append(schema, Member{"enum", stringList(strings.Split(value, "|"))})
		case "type":
			schema = Object{{"type", value}}
		case "minimum", "maximum", "maxItems", "maxLength":
			n, err := strconv.Atoi(value)
			if err != nil {
				return nil, fmt.Errorf("option %s of the schema tag: %w", name, err)
			}
			schema = append(schema, Member{name, n})
		case "null":
			nullable = true
		case "notnull":
			nullable = false
		default:
			return nil, fmt.Errorf("unknown option %q of the tag schema", option)
		}
	}
	if nullable {
		schema = orNull(schema)
	}
	docs, err := g.docsOf(owner.PkgPath())
	if err != nil {
		return nil, err
	}
	if text := docs.fields[owner.Name()+"."+f.Name]; text != "" {
		schema = append(schema, Member{"description", text})
	}
	return schema, nil
}

// orNull returns a schema that also accepts null.
func orNull(schema Object) Object {
	if len(schema) == 0 {
		return schema
	}
	if schema[0].Name == "type" {
		schema[0].Value = List{schema[0].Value, "null"}
		return schema
	}
	return Object{{"anyOf", List{schema, Object{{"type", "null"}}}}}
}

// addComponent adds a named schema and returns a reference to it. Types outside the packages in
// Plain are prefixed with their package name.
func (g *generator) addComponent(t reflect.Type, schema Object) (Object, error) {
	name, known := g.names[t]
	if !known {
		name = strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
		if pkg := path.Base(t.PkgPath()); !slices.Contains(g.plain, t.PkgPath()) && !strings.EqualFold(pkg, name) {
			name = strings.ToUpper(pkg[:1]) + pkg[1:] + name
		}
		if _, taken := g.components[name]; taken {
			return nil, fmt.Errorf("two types are called %s; one of them is %s", name, t)
		}
		g.names[t] = name
		g.components[name] = nil
	}
	if schema != nil {
		g.components[name] = schema
	}
	return reference(name), nil
}

func reference(name string) Object { return Object{{"$ref", "#/components/schemas/" + name}} }

func stringList(values []string) List {
	list := List{}
	for _, v := range values {
		list = append(list, v)
	}
	return list
}

// hasOption reports whether the schema tag of a field contains an option.
func hasOption(f reflect.StructField, name string) bool {
	return slices.Contains(strings.Split(f.Tag.Get("schema"), ","), name)
}
