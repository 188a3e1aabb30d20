package openapigen

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/platform/provenance"
)

// Inner is embedded, so its fields belong to the JSON object of Outer.
type Inner struct {
	ID string `json:"id"`
}

type item struct {
	Inner

	Tags   []string          `json:"tags"`
	Known  []string          `json:"known" schema:"notnull"`
	Note   string            `json:"note,omitempty" schema:"enum=a|b"`
	Raw    json.RawMessage   `json:"raw" schema:"type=object,null"`
	Part   *item             `json:"part,omitempty"`
	Source provenance.Source `json:"source"`
	Hidden string            `json:"-"`
}

type unnamed struct{ Field string }

type encodesItself struct{}

func (encodesItself) MarshalJSON() ([]byte, error) { return []byte("1"), nil }

func newDocument(types ...reflect.Type) Document {
	return Document{
		Root: "../../../..", Module: "hob", Plain: []string{"hob/channels/web/internal/openapigen"}, Error: reflect.TypeFor[Inner](), Extra: types,
		Operations: []Operation{{Method: "GET", Path: "/x", ID: "x", Responses: []Response{{Status: 200, Description: "OK"}}}},
	}
}

func TestGenerate_DescribesTypes(t *testing.T) {
	b, err := Generate(newDocument(reflect.TypeFor[item]()))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Components struct{ Schemas map[string]json.RawMessage }
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(got.Components.Schemas["Item"], &schema); err != nil {
		t.Fatal(err)
	}
	text := map[string]any{"type": "string"}
	want := map[string]any{
		"type": "object",
		"properties": map[string]any{
			"id":     text,
			"tags":   map[string]any{"type": []any{"array", "null"}, "items": text},
			"known":  map[string]any{"type": "array", "items": text},
			"note":   map[string]any{"type": "string", "enum": []any{"a", "b"}},
			"raw":    map[string]any{"type": []any{"object", "null"}},
			"part":   map[string]any{"$ref": "#/components/schemas/Item"},
			"source": map[string]any{"$ref": "#/components/schemas/ProvenanceSource"},
		},
		"required": []any{"id", "tags", "known", "raw", "source"},
	}
	if d := cmp.Diff(want, schema); d != "" {
		t.Errorf("schema of item (-want +got):\n%s", d)
	}
	if s := string(got.Components.Schemas["ProvenanceSource"]); !strings.Contains(s, `"outside"`) || !strings.Contains(s, "description") {
		t.Errorf("ProvenanceSource = %s, want its constants and its comment", s)
	}
}

func TestGenerate_RejectsTypesThatItCannotDescribe(t *testing.T) {
	for name, x := range map[string]reflect.Type{
		"a field without a json tag": reflect.TypeFor[unnamed](),
		"its own encoding":           reflect.TypeFor[encodesItself](),
		"a function":                 reflect.TypeFor[func()](),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Generate(newDocument(x)); err == nil {
				t.Errorf("Generate accepts %s", x)
			}
		})
	}
}
