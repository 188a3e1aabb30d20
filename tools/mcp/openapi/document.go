// Package openapi turns the operations of an OpenAPI document (3.0 or 3.1) into tools: their names,
// schemas and descriptions, and the HTTP requests of their calls. Package mcp offers them like the
// tools of an MCP server, so that changed operations are held back.
//
// A document is hostile: its size, depth and texts are limited, references are resolved only inside
// it, and it cannot choose where requests go. All requests go to the base URL that the user
// configured, with the secrets that the user configured; arguments cannot set the secrets.
package openapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"hob/platform/text/lazyregexp"
	"hob/platform/text/textnorm"
)

// Limits of a document.
const (
	MaxDocument   = 5 << 20
	maxOperations = 1000
	maxParameters = 100
	maxPath       = 500
	maxText       = 1_000
)

// Operation is one operation of a document.
type Operation struct {
	Name        string
	Method      string // in upper case
	Path        string // with placeholders: /pets/{id}
	Description string // begins with the method and the path, so that a change of either changes the description
	Schema      json.RawMessage
	Parameters  []Parameter
	BodyType    string // media type of the argument "body"; "" means that there is no body
}

// Parameter is one argument that is not the body.
type Parameter struct {
	Argument string // name in the schema
	Name     string // name in the request
	In       string // path, query or header
	Commas   bool   // a list is joined by commas instead of repeated
}

// ReadOnly reports whether the method only reads (RFC 9110, section 9.2.1).
func (o Operation) ReadOnly() bool { return o.Method == http.MethodGet || o.Method == http.MethodHead }

// Reserved lists the headers and query parameters that only the configuration may set, in lower
// case.
type Reserved struct{ Headers, Query []string }

// object is a JSON object.
type object = map[string]any

// document resolves references.
type document struct {
	root  object
	nodes int // schema nodes that may still be converted
}

// Parse returns the operations of a document in JSON or YAML, sorted by path and method. skipped
// contains the reasons why other operations cannot be used, keyed by their names.
func Parse(text []byte, reserved Reserved) (list []Operation, skipped map[string]string, err error) {
	root, err := decodeDocument(text)
	if err != nil {
		return nil, nil, err
	}
	version, _ := root["openapi"].(string)
	switch {
	case !strings.HasPrefix(version, "3.") && root["swagger"] != nil:
		return nil, nil, errors.New("the document is Swagger 2.0; convert it to OpenAPI 3")
	case !strings.HasPrefix(version, "3."):
		return nil, nil, errors.New(`the document is not OpenAPI 3: it has no key "openapi" with 3.0 or 3.1`)
	}
	d := &document{root: root, nodes: maxNodes}
	skipped = map[string]string{}
	paths, _ := root["paths"].(object)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item := d.resolveObject(paths[path])
		for _, method := range []string{"get", "head", "post", "put", "patch", "delete"} {
			raw, ok := item[method].(object)
			if !ok {
				continue
			}
			if len(list) == maxOperations {
				skipped["more"] = fmt.Sprintf("the document has more than %d operations", maxOperations)
				return list, skipped, nil
			}
			o := Operation{Method: strings.ToUpper(method), Path: path}
			o.Name = operationName(raw, method, path)
			if err := d.readOperation(&o, item, raw, reserved); err != nil {
				skipped[o.Name] = err.Error()
				continue
			}
			list = append(list, o)
		}
	}
	if len(list) == 0 && len(skipped) == 0 {
		return nil, nil, errors.New("the document has no operations")
	}
	return list, skipped, nil
}

func decodeDocument(text []byte) (object, error) {
	if len(text) > MaxDocument {
		return nil, fmt.Errorf("the document is larger than %d MB", MaxDocument>>20)
	}
	var root any
	jsonErr := json.Unmarshal(text, &root)
	if jsonErr != nil {
		if err := yaml.Unmarshal(text, &root); err != nil { // the YAML library limits the expansion of aliases
			return nil, fmt.Errorf("the document is neither JSON nor YAML: %w", jsonErr)
		}
		root = normalizeYAML(root, 0)
	}
	o, ok := root.(object)
	if !ok {
		return nil, errors.New("the document is not an object")
	}
	return o, nil
}

// maxDepth is the nesting depth at which a document is truncated.
const maxDepth = 100

// normalizeYAML returns a value of YAML with the types of JSON.
func normalizeYAML(v any, depth int) any {
	if depth > maxDepth {
		return nil
	}
	switch v := v.(type) {
	case object:
		for k, x := range v {
			v[k] = normalizeYAML(x, depth+1)
		}
		return v
	case map[any]any: // a response code is a number
		out := object{}
		for k, x := range v {
			out[fmt.Sprint(k)] = normalizeYAML(x, depth+1)
		}
		return out
	case []any:
		for i, x := range v {
			v[i] = normalizeYAML(x, depth+1)
		}
		return v
	case int:
		return float64(v)
	case string, bool, float64, nil:
		return v
	}
	return fmt.Sprint(v) // a date
}

// resolveObject returns v or, if v is a reference inside the document, its target. It follows at
// most 10 references, and returns nil if the result is not an object.
func (d *document) resolveObject(v any) object {
	for range 10 {
		o, ok := v.(object)
		if !ok {
			return nil
		}
		ref, ok := o["$ref"].(string)
		if !ok {
			return o
		}
		v = d.lookupReference(ref)
	}
	return nil
}

// lookupReference returns the value at a reference such as "#/components/schemas/Pet" (RFC 6901), or nil.
func (d *document) lookupReference(ref string) any {
	rest, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil // another document, which is never read
	}
	var v any = d.root
	for part := range strings.SplitSeq(rest, "/") {
		o, ok := v.(object)
		if !ok {
			return nil
		}
		v = o[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	return v
}

var nameRuns = lazyregexp.New(`[^A-Za-z0-9_.-]+`)

// operationName returns the operationId, or a name built from the method and the path.
func operationName(raw object, method, path string) string {
	id, _ := raw["operationId"].(string)
	name := strings.Trim(nameRuns.ReplaceAllString(cmp.Or(id, method+path), "_"), "_")
	if len(name) > 64 {
		name = name[:64]
	}
	return cmp.Or(name, method)
}

// validPath matches paths that stay below the base URL.
var validPath = lazyregexp.New(`^/([A-Za-z0-9_.~!$&'()*+,;=:@{}-]+/?)*$`)

func (d *document) readOperation(o *Operation, item, raw object, reserved Reserved) error {
	if len(o.Path) > maxPath || !validPath.MatchString(o.Path) || slices.ContainsFunc(strings.Split(o.Path, "/"), func(s string) bool { return s == "." || s == ".." }) {
		return errors.New("its path is not valid")
	}
	text, _ := raw["summary"].(string)
	if long, _ := raw["description"].(string); long != "" && long != text {
		text = strings.TrimSpace(text + "\n" + long)
	}
	o.Description = o.Method + " " + o.Path + ": " + textnorm.Ellipsize(text, maxText)
	in := &arguments{properties: object{}}
	if err := d.readParameters(o, []object{item, raw}, reserved, in); err != nil {
		return err
	}
	if err := d.readBody(o, raw, in); err != nil {
		return err
	}
	for _, name := range pathPlaceholders(o.Path) {
		if !slices.ContainsFunc(o.Parameters, func(p Parameter) bool { return p.In == "path" && p.Name == name }) {
			return fmt.Errorf("its path contains {%s}, which is not a parameter", textnorm.Ellipsize(name, 60))
		}
	}
	schema := object{"type": "object", "properties": in.properties, "additionalProperties": false}
	if len(in.required) > 0 {
		schema["required"] = in.required
	}
	var err error
	o.Schema, err = json.Marshal(schema)
	return err
}

// arguments collects the arguments of an operation.
type arguments struct {
	properties object
	required   []any
}

var inPath = lazyregexp.New(`\{([^{}]*)\}`)

func pathPlaceholders(path string) (out []string) {
	for _, m := range inPath.FindAllStringSubmatch(path, -1) {
		out = append(out, m[1])
	}
	return out
}

// readParameters reads the parameters of the path and of the operation; a parameter of the
// operation replaces a parameter of the path with the same name and location.
func (d *document) readParameters(o *Operation, from []object, reserved Reserved, out *arguments) error {
	byKey, order := map[string]object{}, []string{}
	for _, f := range from {
		list, _ := f["parameters"].([]any)
		if len(list) > maxParameters {
			return fmt.Errorf("more than %d parameters", maxParameters)
		}
		for _, x := range list {
			p := d.resolveObject(x)
			name, _ := p["name"].(string)
			in, _ := p["in"].(string)
			if name == "" || len(name) > 100 {
				return errors.New("a parameter has no valid name")
			}
			key := in + "\x00" + name
			if byKey[key] == nil {
				order = append(order, key)
			}
			byKey[key] = p
		}
	}
	for _, key := range order {
		in, name, _ := strings.Cut(key, "\x00")
		p := byKey[key]
		must, _ := p["required"].(bool)
		if isReserved(in, name, reserved) {
			continue // the configuration sets this parameter
		}
		switch in {
		case "path":
			must = true
		case "query", "header":
		default: // cookies are never sent
			if must {
				return fmt.Errorf("the required %s %q is not supported", textnorm.Ellipsize(in, 20), textnorm.Ellipsize(name, 60))
			}
			continue
		}
		x := Parameter{Argument: name, Name: name, In: in}
		if out.properties[name] != nil || name == "body" {
			x.Argument = in + "_" + name
		}
		if explode, ok := p["explode"].(bool); ok && !explode {
			x.Commas = true
		}
		schema := p["schema"]
		if content, ok := p["content"].(object); ok && schema == nil {
			media, _ := content["application/json"].(object)
			schema = media["schema"]
		}
		s := d.convertSchema(schema, 0, nil)
		if text, _ := p["description"].(string); text != "" && s["description"] == nil {
			s["description"] = textnorm.Ellipsize(text, maxSchemaText)
		}
		out.properties[x.Argument] = s
		if must {
			out.required = append(out.required, x.Argument)
		}
		o.Parameters = append(o.Parameters, x)
	}
	return nil
}

// isReserved reports whether only the configuration or the connection may set a parameter.
func isReserved(in, name string, own Reserved) bool {
	switch in {
	case "header":
		h := strings.ToLower(textproto.CanonicalMIMEHeaderKey(name))
		return slices.Contains(own.Headers, h) || slices.Contains([]string{
			"authorization", "proxy-authorization", "cookie", "host", "accept", "content-type", "content-length", "transfer-encoding", "connection", "user-agent", "origin", "referer", "forwarded",
		}, h) || strings.HasPrefix(h, "x-forwarded")
	case "query":
		return slices.Contains(own.Query, strings.ToLower(name))
	}
	return false
}

// Media types of request bodies that Hob can send, in order of preference.
const (
	jsonType = "application/json"
	formType = "application/x-www-form-urlencoded"
	textType = "text/plain"
)

func (d *document) readBody(o *Operation, raw object, out *arguments) error {
	body := d.resolveObject(raw["requestBody"])
	if body == nil || o.ReadOnly() {
		return nil
	}
	must, _ := body["required"].(bool)
	content, _ := body["content"].(object)
	for _, want := range []string{jsonType, "+json", formType, textType} {
		for _, media := range slices.Sorted(maps.Keys(content)) {
			base, _, _ := strings.Cut(strings.ToLower(media), ";")
			if base = strings.TrimSpace(base); base != want && (want[0] != '+' || !strings.HasSuffix(base, want)) {
				continue
			}
			if strings.ContainsFunc(base, func(r rune) bool { return r <= ' ' || r > '~' }) {
				continue
			}
			m, _ := content[media].(object)
			o.BodyType = base
			out.properties["body"] = d.convertSchema(m["schema"], 0, nil)
			if must {
				out.required = append(out.required, "body")
			}
			return nil
		}
	}
	if must {
		return errors.New("its body has none of the types JSON, form and text")
	}
	return nil
}
