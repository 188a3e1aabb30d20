package web

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/api"
	"hob/channels/web/internal/openapigen"
)

var update = flag.Bool("update", false, "write openapi.json")

// newObject returns an object from pairs of a name and a value.
func newObject(pairs ...any) openapigen.Object {
	var o openapigen.Object
	for i := 0; i < len(pairs); i += 2 {
		o = append(o, openapigen.Member{Name: pairs[i].(string), Value: pairs[i+1]})
	}
	return o
}

// generateDocument generates openapi.json from the route table.
func generateDocument(t *testing.T) []byte {
	t.Helper()
	s := &Server{backend: rejectAll{}, log: slog.New(slog.DiscardHandler)}
	var err error
	if s.pages, err = s.newDashboard(); err != nil {
		t.Fatal(err)
	}
	doc := openapigen.Document{
		Root: "../..", Module: "hob", Plain: []string{"hob/autonomy/api", "hob/channels/web"}, Error: reflect.TypeFor[api.ErrorBody](),
		Head: newObject(
			"openapi", "3.1.0",
			"info", newObject("title", "Hob", "version", "1",
				"description", "The HTTP API of Hob on 127.0.0.1. The server checks Host and Origin. Unknown JSON fields and unknown parameters are errors. "+
					"A request may be at most 16 MB and the text of a message at most 10 MB.",
				"license", newObject("name", "MIT", "identifier", "MIT")),
			"servers", openapigen.List{newObject("url", "http://127.0.0.1:7717")},
			"security", openapigen.List{newObject("token", openapigen.List{}), newObject("cookie", openapigen.List{})},
		),
		Security: newObject(
			"token", newObject("type", "http", "scheme", "bearer", "description", "the content of the file HOB_HOME/token"),
			"cookie", newObject("type", "apiKey", "in", "cookie", "name", "hob_7717", "description", "from a login link; its name ends with the port"),
			"signature", newObject("type", "apiKey", "in", "header", "name", "X-Hob-Signature"),
		),
		Overrides: map[reflect.Type]openapigen.Object{
			reflect.TypeFor[api.Explanation](): newObject(
				"type", "object", "description", "The answer to one question: a Why, a Tick or a Silence, and all of it as text.",
				"anyOf", openapigen.List{
					newObject("$ref", "#/components/schemas/Why"), newObject("$ref", "#/components/schemas/Tick"), newObject("$ref", "#/components/schemas/Silence"),
				},
				"properties", newObject("text", newObject("type", "string")), "required", openapigen.List{"text"},
			),
		},
		Extra: []reflect.Type{
			reflect.TypeFor[api.Why](), reflect.TypeFor[api.Tick](), reflect.TypeFor[api.Silence](), reflect.TypeFor[api.MemoryProgress](), reflect.TypeFor[api.ImportResult](),
		},
	}
	for _, rt := range s.routeTable() {
		doc.Operations = append(doc.Operations, operationOf(rt))
	}
	out, err := openapigen.Generate(doc)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func operationOf(rt route) openapigen.Operation {
	o := openapigen.Operation{
		Method: rt.method, Path: strings.TrimSuffix(rt.path, "{$}"), ID: rt.id, Tag: rt.tag, Summary: rt.summary, Description: rt.detail, Fails: rt.fails,
	}
	for _, p := range rt.params {
		o.Parameters = append(o.Parameters, openapigen.Parameter{Name: p.name, In: p.in, Description: p.text, Required: p.required, Schema: parameterSchema(p.schema)})
	}
	switch {
	case rt.request == nil:
	case rt.request.json == nil:
		o.Request = &openapigen.Request{Content: []openapigen.Content{{Media: "*/*", Types: []reflect.Type{reflect.TypeFor[any]()}}}}
	default:
		o.Request = &openapigen.Request{
			Required: rt.request.required || hasRequiredField(rt.request.json),
			Content:  []openapigen.Content{{Media: "application/json", Types: []reflect.Type{rt.request.json}}},
		}
	}
	for _, r := range rt.replies {
		response := openapigen.Response{Status: r.status, Description: r.text}
		if len(r.json) > 0 {
			response.Content = append(response.Content, openapigen.Content{Media: "application/json", Types: r.json})
		}
		for _, media := range r.media {
			response.Content = append(response.Content, openapigen.Content{Media: media})
		}
		if r.stream != nil {
			response.Content = append(response.Content, openapigen.Content{Media: "text/event-stream", Types: []reflect.Type{r.stream}})
		}
		o.Responses = append(o.Responses, response)
	}
	if rt.open != nil {
		o.Access = openapigen.List{}
		for _, proof := range rt.security {
			o.Access = append(o.Access, newObject(proof, openapigen.List{}))
		}
	}
	return o
}

func parameterSchema(p paramSchema) openapigen.Object {
	out := newObject("type", "string")
	if p.kind != "" {
		out = newObject("type", p.kind)
	}
	if len(p.values) > 0 {
		list := openapigen.List{}
		for _, v := range p.values {
			list = append(list, v)
		}
		out = append(out, newObject("enum", list)...)
	}
	if p.maximum > 0 {
		out = append(out, newObject("minimum", p.minimum, "maximum", p.maximum)...)
	}
	if n, err := strconv.Atoi(p.standard); err == nil {
		out = append(out, newObject("default", n)...)
	} else if p.standard != "" {
		out = append(out, newObject("default", p.standard)...)
	}
	return out
}

func hasRequiredField(t reflect.Type) bool {
	for f := range t.Fields() {
		if !strings.Contains(f.Tag.Get("json"), ",omit") {
			return true
		}
	}
	return false
}

func TestOpenAPI_IsCurrent(t *testing.T) {
	got := generateDocument(t)
	if *update {
		if err := os.WriteFile("openapi.json", got, 0o644); err != nil { //nolint:gosec // a source file, readable by everyone
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(got, document) {
		t.Errorf("openapi.json is stale; run: go generate ./channels/web\n%s", cmp.Diff(string(document), string(got)))
	}
}

// The golden list holds every route that clients rely on, with its access and parameters. A route
// or parameter in it must not disappear. Add new routes and parameters to it.
func TestOpenAPI_MatchesGoldenRoutes(t *testing.T) {
	golden, err := os.ReadFile("testdata/routes.golden")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for path, ops := range parseDocument(t).Paths {
		for method, op := range ops {
			var params []string
			for _, p := range op.Parameters {
				params = append(params, p.In+":"+p.Name)
			}
			slices.Sort(params)
			access := "owner"
			if op.Security != nil {
				access = "open"
			}
			got = append(got, strings.Join(append([]string{strings.ToUpper(method), path, access}, params...), " "))
		}
	}
	slices.Sort(got)
	if d := cmp.Diff(strings.Split(strings.TrimSpace(string(golden)), "\n"), got); d != "" {
		t.Errorf("routes differ (-golden +routes):\n%s", d)
	}
}

type openapiDoc struct {
	OpenAPI string
	Paths   map[string]map[string]struct {
		OperationID string
		Summary     string
		Parameters  []struct{ Name, In, Description string }
		Security    *[]map[string][]string
		Responses   map[string]any
	}
	Components struct {
		SecuritySchemes, Responses map[string]any
		Schemas                    map[string]struct {
			Type, Description string
			Properties        map[string]any
			Required          []string
		}
	}
}

func parseDocument(t *testing.T) openapiDoc {
	t.Helper()
	var d openapiDoc
	if err := json.Unmarshal(document, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestOpenAPI_IsValid(t *testing.T) {
	d := parseDocument(t)
	if d.OpenAPI != "3.1.0" {
		t.Errorf("openapi = %q", d.OpenAPI)
	}
	inPath, ids := regexp.MustCompile(`\{([a-z]+)\}`), map[string]bool{}
	for path, ops := range d.Paths {
		for method, op := range ops {
			var want, got []string
			for _, m := range inPath.FindAllStringSubmatch(path, -1) {
				want = append(want, m[1])
			}
			for _, p := range op.Parameters {
				if p.In == "path" {
					got = append(got, p.Name)
				}
				if p.Description == "" {
					t.Errorf("%s %s: the parameter %s has no description", method, path, p.Name)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s %s: path parameters %v, want %v", method, path, got, want)
			}
			if op.OperationID == "" || ids[op.OperationID] || op.Summary == "" || op.Responses["default"] == nil || len(op.Responses) < 2 {
				t.Errorf("%s %s: the operationId %q is missing or not unique, or the summary or a response is missing", method, path, op.OperationID)
			}
			ids[op.OperationID] = true
		}
	}
	for name, schema := range d.Components.Schemas {
		if schema.Description == "" && !strings.HasPrefix(name, "Chat") && !strings.HasPrefix(name, "Model") {
			t.Errorf("the schema %s has no description: give its type a comment", name)
		}
		for _, field := range schema.Required {
			if _, ok := schema.Properties[field]; !ok {
				t.Errorf("%s requires %s, which it does not describe", name, field)
			}
		}
	}
	var root any
	if err := json.Unmarshal(document, &root); err != nil {
		t.Fatal(err)
	}
	for _, ref := range collectRefs(root) {
		at := root
		for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			m, _ := at.(map[string]any)
			at = m[part]
		}
		if at == nil {
			t.Errorf("%s does not exist", ref)
		}
	}
}

// collectRefs returns the references in a document.
func collectRefs(v any) (refs []string) {
	switch x := v.(type) {
	case map[string]any:
		for name, value := range x {
			if s, is := value.(string); is && name == "$ref" {
				refs = append(refs, s)
				continue
			}
			refs = append(refs, collectRefs(value)...)
		}
	case []any:
		for _, value := range x {
			refs = append(refs, collectRefs(value)...)
		}
	}
	return refs
}

// A route with filters accepts each documented parameter and rejects all others.
func TestRoutes_RejectUndocumentedParameters(t *testing.T) {
	s, err := New(Options{Token: strings.Repeat("0", 64), Backend: rejectAll{}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	unknown := func(path, query string) bool {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, s.URL()+path+"?"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+strings.Repeat("0", 64))
		resp, err := s.Client().Do(req)
		if err != nil {
			t.Fatalf("%s?%s: %v", path, query, err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode == http.StatusBadRequest && strings.Contains(string(b), "unknown parameter")
	}
	for _, rt := range s.routeTable() {
		if rt.owner == nil || rt.method != http.MethodGet || rt.queryNames() == nil {
			continue
		}
		path := strings.NewReplacer("{session}", "s", "{id}", "1", "{line}", "1").Replace(rt.path)
		t.Run(rt.id, func(t *testing.T) {
			for _, name := range rt.queryNames() {
				if unknown(path, name+"=1") {
					t.Errorf("%s is documented and rejected", name)
				}
			}
			if !unknown(path, "nonsense=1") {
				t.Error("an unknown parameter is accepted")
			}
		})
	}
}

func TestServer_KnowsItsAddresses(t *testing.T) {
	s, err := New(Options{Token: strings.Repeat("0", 64), Backend: rejectAll{}, Log: slog.New(slog.DiscardHandler), Listen: "[::1]:7717", Hosts: []string{"hob.example"}})
	if err != nil {
		t.Fatal(err)
	}
	if s.URL() != "http://[::1]:7717" || !s.knownHost("HOB.example:443") || s.knownHost("example:443") || s.knownHost("") {
		t.Errorf("URL %s", s.URL())
	}
}

type rejectAll struct{ Backend }
