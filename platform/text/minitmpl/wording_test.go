package minitmpl_test

import (
	"strings"
	"testing"
	"text/template"
	"time"

	"hob/platform/text/minitmpl"
)

type inner struct {
	Name string
	Tags []string
}

type kind string

func (k kind) String() string { return "<" + string(k) + ">" }

type data struct {
	inner
	Title string
	N     int
	F     float64
	Yes   bool
	Kind  kind
	Time  time.Duration
	Of    *inner
	None  *inner
	List  []inner
	Ptrs  []*inner
	Empty []string
	Map   map[string]any
	Any   any
	Fn    func(string) bool
}

func sampleData() data {
	return data{
		inner: inner{Name: "embedded", Tags: []string{"a", "b"}}, Title: "Ti & tle <b>", N: 3, F: 1.5, Yes: true, Kind: "k", Time: time.Minute,
		Of: &inner{Name: "of"}, List: []inner{{Name: "one", Tags: []string{"x"}}, {Name: "two"}}, Ptrs: []*inner{{Name: "p"}},
		Map: map[string]any{"Key": "value", "List": []string{"m"}, "Nil": nil}, Any: inner{Name: "any"}, Fn: func(s string) bool { return s == "yes" },
	}
}

// texts lists templates that have the same result in this package and in text/template.
var texts = []string{
	"plain {{.Title}} {{.N}} {{.F}} {{.Yes}} {{.Kind}} {{.Time}} {{.Name}}",
	"{{.Of.Name}} {{.Any.Name}} {{.Map.Key}} {{.Map.Missing}} {{(index .List 0).Name}}",
	"{{range .List}}[{{.Name}}{{range .Tags}} {{.}}{{end}}]{{end}}",
	"{{range $i, $x := .List}}{{if $i}}, {{end}}{{$i}}:{{$x.Name}}{{end}}",
	"{{range $x := .Ptrs}}{{$x.Name}}{{$.Title}}{{end}}",
	"{{range .Empty}}x{{else}}nothing{{end}}",
	"{{with .Of}}{{.Name}}{{end}}{{with .None}}x{{else}}none{{end}}{{with $x := .Title}}{{$x}}{{end}}",
	"{{if and .Yes .N}}both{{end}}{{if or .Empty .None .Title}}one{{end}}{{if not .Empty}}not{{end}}{{if .Map}}map{{end}}{{if .Any}}any{{end}}",
	"{{if eq .Title \"Ti & tle <b>\"}}eq{{end}}{{if ne .N 4}}ne{{end}}{{if eq .Kind \"k\"}}kind{{end}}{{if eq .N 3}}three{{else if eq .N 4}}four{{end}}",
	"{{len .List}} {{len .Title}} {{printf \"%q %d\" .Title .N}} {{.N | printf \"%03d\"}} {{join .Tags \"; \"}}",
	"{{define \"x\"}}<{{.}}{{$}}>{{end}}{{template \"x\" .Title}}{{template \"y\"}}{{define \"y\"}}!{{end}}",
	"a  {{- /* c */ -}}  b\n{{- if .Yes}}\nyes\n{{- end}}\n",
	"{{$a := .N}}{{if .Yes}}{{$a = .Title}}{{end}}{{$a}}{{.Of}}{{.List}}{{.None}}",
	"{{call .Fn \"yes\"}}",
	"{{1}} {{\"s\"}} {{true}}",
}

func TestRender_LikeTheStandardLibrary(t *testing.T) {
	for _, text := range texts {
		std, err := template.New("std").Funcs(template.FuncMap{"join": strings.Join}).Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		var want, got strings.Builder
		if err := std.Execute(&want, sampleData()); err != nil {
			t.Fatalf("%s: Execute = %v, want nil", text, err)
		}
		text := strings.NewReplacer("(index .List 0).Name", "(first .List).Name", "call .Fn", ".Fn").Replace(text)
		own, err := minitmpl.Parse(text, minitmpl.Funcs{"join": strings.Join, "first": func(l []inner) inner { return l[0] }})
		if err != nil {
			t.Fatal(err)
		}
		if err := own.Execute(&got, sampleData()); err != nil {
			t.Errorf("%s: Execute = %v, want nil", text, err)
			continue
		}
		if got.String() != want.String() {
			t.Errorf("%s:\n got %q\nwant %q", text, got.String(), want.String())
		}
	}
}

func TestParse_RejectsMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"{{.Nope}}":           "has no field Nope",
		"{{.Kind.String}}":    "has no fields",
		"{{.None.Name}}":      "cannot read field .Name",
		"{{range .N}}{{end}}": "cannot range over",
		"{{template \"z\"}}":  "no template \"z\"",
		"{{define \"r\"}}{{template \"r\"}}{{end}}{{template \"r\"}}": "include each other",
		"{{join .Title}}":       "called with 1 arguments",
		"{{join .Title \"x\"}}": "must be a []string",
		"{{.Title .N}}":         "takes no arguments",
		"{{eq .Title .N}}":      "cannot be compared",
	} {
		w, err := minitmpl.Parse(text, minitmpl.Funcs{"join": strings.Join})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := w.Execute(&b, sampleData()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{"{{", "{{if}}", "{{nope .}}", "{{end}}"} {
		if _, err := minitmpl.Parse(text); err == nil {
			t.Errorf("%s was accepted", text)
		}
	}
}
