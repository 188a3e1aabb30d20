package config

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// raw is a section whose keys belong to a driver.
type raw map[string]any

// shape describes the keys of a Go type, by go-toml's rules: a field's name is its toml tag.
type shape struct{ reflect.Type }

func shapeOf(t reflect.Type) shape {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[QuietHours]() {
		t = reflect.TypeFor[quietList]()
	}
	return shape{t}
}

// open reports whether any key and value may stand here.
func (s shape) open() bool { return s.Kind() == reflect.Interface || s.Type == reflect.TypeFor[raw]() }

func (s shape) text() bool {
	return reflect.PointerTo(s.Type).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// section reports whether keys may stand inside.
func (s shape) section() bool {
	return s.open() || s.Kind() == reflect.Map || (s.Kind() == reflect.Struct && !s.text())
}

// list reports whether a list of sections is accepted here, [[like.this]].
func (s shape) list() bool { return s.Kind() == reflect.Slice && shapeOf(s.Elem()).section() }

// alone reports whether a single section is accepted instead of a list.
func (s shape) alone() bool { return s.Type == reflect.TypeFor[quietList]() }

// fields lists the names a struct takes.
func (s shape) fields() []string {
	var out []string
	if s.list() {
		return shapeOf(s.Elem()).fields()
	}
	if s.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(s.Type) {
		if n := fieldName(f); n != "" {
			out = append(out, n)
		}
	}
	return out
}

func fieldName(f reflect.StructField) string {
	tag, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
	switch {
	case !f.IsExported() || f.Anonymous || tag == "-":
		return ""
	case tag == "":
		return f.Name
	}
	return tag
}

// field returns the shape of a key directly inside this one.
func (s shape) field(name string) (shape, bool) {
	switch {
	case s.open():
		return shape{reflect.TypeFor[any]()}, true
	case s.Kind() == reflect.Map:
		return shapeOf(s.Elem()), true
	case s.Kind() == reflect.Slice:
		return shapeOf(s.Elem()).field(name)
	case s.Kind() != reflect.Struct:
		return shape{}, false
	}
	for _, f := range reflect.VisibleFields(s.Type) {
		n := fieldName(f)
		if n == "" {
			continue
		}
		if n == name || (f.Tag.Get("toml") == "" && strings.EqualFold(n, name)) {
			return shapeOf(f.Type), true
		}
	}
	return shape{}, false
}

// accepts describes the accepted values of a key of this shape.
func (s shape) accepts() string {
	switch {
	case s.Type == reflect.TypeFor[Duration]():
		return `a duration such as "30s", "15m" or "2h"`
	case s.Type == reflect.TypeFor[Size]():
		return `a size such as "500KB" or "10MB"`
	case s.text(), s.Kind() == reflect.String:
		return "text in quotes"
	case s.Kind() == reflect.Bool:
		return "true or false"
	case s.CanInt(), s.CanUint():
		return "a whole number"
	case s.CanFloat():
		return "a number"
	case s.list():
		return "a list of sections"
	case s.Kind() == reflect.Slice:
		return `a list such as ["a", "b"]`
	}
	return "a section"
}

// CanInt reports a signed integer.
func (s shape) CanInt() bool { return s.Kind() >= reflect.Int && s.Kind() <= reflect.Int64 }

// CanUint reports an unsigned integer.
func (s shape) CanUint() bool { return s.Kind() >= reflect.Uint && s.Kind() <= reflect.Uint64 }

// CanFloat reports a floating point number.
func (s shape) CanFloat() bool { return s.Kind() == reflect.Float32 || s.Kind() == reflect.Float64 }

// takes reports whether a TOML value of the kind fits.
func (s shape) takes(k unstable.Kind) bool {
	switch {
	case s.Type == reflect.TypeFor[raw]():
		return k == unstable.Table || k == unstable.InlineTable
	case s.open():
		return true
	case s.text(), s.Kind() == reflect.String:
		return k == unstable.String
	case s.Kind() == reflect.Bool:
		return k == unstable.Bool
	case s.CanInt(), s.CanUint():
		return k == unstable.Integer
	case s.CanFloat():
		return k == unstable.Float || k == unstable.Integer
	case s.Kind() == reflect.Slice:
		return k == unstable.Array || k == unstable.ArrayTable || s.alone() && (k == unstable.Table || k == unstable.InlineTable)
	}
	return k == unstable.Table || k == unstable.InlineTable
}

// check compares the keys below prefix with the fields of t. Keys in skip belong to another
// owner.
func (d *document) check(t reflect.Type, prefix []string, skip ...string) Errors {
	var errs Errors
	unknown := map[string]bool{}
	for i := range d.entries {
		e := &d.entries[i]
		if len(e.path) <= len(prefix) || !slices.Equal(e.path[:len(prefix)], prefix) || slices.Contains(skip, e.path[len(prefix)]) {
			continue
		}
		err := d.checkEntry(e, shapeOf(t), len(prefix))
		if err == nil || unknown[err.Key] { // report an unknown section once
			continue
		}
		unknown[err.Key] = true
		errs = append(errs, err)
	}
	return errs
}

func (d *document) checkEntry(e *entry, root shape, from int) *Error {
	s := root
	for i := from; i < len(e.path); i++ {
		next, ok := s.field(e.path[i])
		if !ok {
			return &Error{File: d.file, Line: e.line, Key: join(e.path[:i+1]), Msg: unknownKey(root, s, e.path, from, i)}
		}
		s = next
	}
	bad := func() *Error {
		return &Error{File: d.file, Line: e.line, Key: join(e.path), Msg: d.show(e) + "it must be " + s.accepts()}
	}
	if !s.takes(e.kind) {
		return bad()
	}
	if s.Kind() == reflect.Slice && !s.open() && e.kind == unstable.Array {
		for _, k := range e.elems {
			if !shapeOf(s.Elem()).takes(k) {
				return bad()
			}
		}
	}
	if s.text() && e.kind == unstable.String {
		v, ok := reflect.New(s.Type).Interface().(encoding.TextUnmarshaler)
		if ok && v.UnmarshalText(e.data) != nil {
			return bad()
		}
	}
	return nil
}

// show repeats a value in an error, unless it is a secret.
func (d *document) show(e *entry) string {
	if e.header() || isSecretKey(e.path[len(e.path)-1]) {
		return ""
	}
	v := string(d.text[e.value:e.end])
	if r := []rune(v); len(r) > 60 {
		v = string(r[:60]) + "..."
	}
	return strings.ReplaceAll(v, "\n", " ") + ": "
}

// unknownKey names the nearest key, or those there are.
func unknownKey(root, s shape, path []string, from, i int) string {
	what := "unknown key"
	if i == 0 {
		what = "unknown section"
	}
	if !s.section() && !s.list() {
		return "unknown key; " + join(path[:i]) + " is " + s.accepts() + ", not a section"
	}
	in := path[:i]
	if near := nearest(path[i], s.fields()); near != "" {
		return fmt.Sprintf("%s; did you mean %q?", what, join(append(slices.Clone(in), near)))
	}
	// The right name in the wrong section.
	if from == 0 {
		for _, section := range root.fields() {
			f, _ := root.field(section)
			if slices.Contains(f.fields(), path[len(path)-1]) {
				return fmt.Sprintf("%s; did you mean %q?", what, section+"."+path[len(path)-1])
			}
		}
	}
	if len(in) == 0 {
		return what + "; the sections are " + strings.Join(s.fields(), ", ")
	}
	return fmt.Sprintf("%s; [%s] takes %s", what, join(in), strings.Join(s.fields(), ", "))
}

// Nearest returns the most similar name, "" if none is similar.
func Nearest(name string, names []string) string { return nearest(name, names) }

// nearest returns the most similar name, "" if none is similar.
func nearest(name string, names []string) string {
	best, near := max(1, (len(name)+2)/3)+1, ""
	for _, n := range names {
		if d := distance(strings.ToLower(name), n); d < best {
			best, near = d, n
		}
	}
	return near
}

// distance returns the Levenshtein edit distance, counting a swap of neighbours once.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}

// isSecretKey reports whether a key of this name holds a credential.
func isSecretKey(name string) bool {
	for _, s := range []string{"api_key", "key", "password", "secret", "token"} {
		if name == s || strings.HasSuffix(name, "_"+s) {
			return true
		}
	}
	return false
}
