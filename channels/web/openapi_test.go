package web

import (
	"encoding/json"
	"log/slog"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/api"
)

type openapiDoc struct {
	Paths map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Parameters  []struct{ Name, In string }
		Security    *[]map[string][]string
		Responses   map[string]any
	}
	Components struct {
		Schemas map[string]struct {
			Properties map[string]any
			Required   []string
		}
	}
}

func parsed(t *testing.T) openapiDoc {
	t.Helper()
	var d openapiDoc
	if err := json.Unmarshal(document, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// The document names exactly the routes there are, which of them need no
// token, and their parameters.
func TestDocumentMatchesRoutes(t *testing.T) {
	s := &Server{page: map[string]asset{}, backend: nobody{}}
	want, got := map[string]string{}, map[string]string{}
	inPath := regexp.MustCompile(`\{([a-z]+)\}`)
	for _, r := range s.routeTable() {
		path := strings.TrimSuffix(r.path, "{$}")
		var params []string
		for _, m := range inPath.FindAllStringSubmatch(path, -1) {
			params = append(params, m[1])
		}
		access := "owner"
		if r.open != nil {
			access = "open"
		}
		want[r.method+" "+path] = access + " " + strings.Join(params, ",")
	}
	for path, ops := range parsed(t).Paths {
		for method, op := range ops {
			var params []string
			for _, p := range op.Parameters {
				if p.In == "path" {
					params = append(params, p.Name)
				}
			}
			access := "owner"
			if op.Security != nil {
				access = "open"
			}
			got[strings.ToUpper(method)+" "+path] = access + " " + strings.Join(params, ",")
			if op.OperationID == "" || op.Responses["default"] == nil {
				t.Errorf("%s %s has no operationId or no default response", method, path)
			}
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("routes and openapi.json differ (-routes +document):\n%s", d)
	}
}

// Lists refuse parameters that the document does not name, and take all others.
func TestDocumentMatchesParameters(t *testing.T) {
	for path, ops := range parsed(t).Paths {
		name, ok := strings.CutPrefix(path, "/api/v1/")
		op, get := ops["get"]
		if !ok || !get || strings.Contains(name, "/") || slices.Contains([]string{"events", "openapi.json", "why", "audit", "doctor"}, name) {
			continue
		}
		var got []string
		for _, p := range op.Parameters {
			got = append(got, p.Name)
		}
		if d := cmp.Diff(listParams(name), got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		for _, p := range got {
			if _, err := parseQuery(p+"="+url.QueryEscape("1"), listParams(name)); err != nil {
				t.Errorf("%s?%s: %v", name, p, err)
			}
		}
	}
}

func TestDocumentMatchesTypes(t *testing.T) {
	d := parsed(t)
	for name, v := range map[string]any{
		"EventStatus": api.EventStatus{}, "ToolUse": api.ToolUse{}, "ToolOutcome": api.ToolOutcome{}, "FeedEvent": api.FeedEvent{},
		"Answered": api.Answered{}, "Message": messageBody{},
	} {
		var want, required []string
		for i := range reflect.TypeOf(v).NumField() {
			field, opt, _ := strings.Cut(reflect.TypeOf(v).Field(i).Tag.Get("json"), ",")
			want = append(want, field)
			if opt != "omitempty" && name != "Message" {
				required = append(required, field)
			}
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(d.Components.Schemas[name].Properties))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(required, d.Components.Schemas[name].Required); diff != "" {
			t.Errorf("%s, required: %s", name, diff)
		}
	}
}

func TestAddresses(t *testing.T) {
	s, err := New(Options{Token: strings.Repeat("0", 64), Backend: nobody{}, Log: slog.New(slog.DiscardHandler), Listen: "[::1]:7717", Hosts: []string{"hob.example"}})
	if err != nil {
		t.Fatal(err)
	}
	if s.URL() != "http://[::1]:7717" || !s.knownHost("HOB.example:443") || s.knownHost("example:443") || s.knownHost("") {
		t.Errorf("URL %s", s.URL())
	}
}

type nobody struct{ Backend }
