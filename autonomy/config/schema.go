package config

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// driverSection is a section whose keys belong to a driver.
type driverSection map[string]any

// keySchema describes the keys of a Go type according to go-toml's rules: the name of a field is
// its toml tag.
type keySchema struct{ reflect.Type }

func shapeOf(t reflect.Type) keySchema {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[QuietHours]() {
		t = reflect.TypeFor[quietList]()
	}
	return keySchema{t}
}

// isOpen reports whether any key and value is allowed.
func (s keySchema) isOpen() bool {
	return s.Kind() == reflect.Interface || s.Type == reflect.TypeFor[driverSection]()
}

// isAccount reports whether the type is an account section, whose keys are defined by the account
// kinds.
func (s keySchema) isAccount() bool { return s.Type == reflect.TypeFor[accountSection]() }

func (s keySchema) isText() bool {
	return reflect.PointerTo(s.Type).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// isSection reports whether a value of the type can contain keys.
func (s keySchema) isSection() bool {
	return s.isOpen() || s.Kind() == reflect.Map || (s.Kind() == reflect.Struct && !s.isText())
}

// isSectionList reports whether the type allows a list of sections, [[like.this]].
func (s keySchema) isSectionList() bool {
	return s.Kind() == reflect.Slice && shapeOf(s.Elem()).isSection()
}

// canStandAlone reports whether a single section is accepted instead of a list.
func (s keySchema) canStandAlone() bool { return s.Type == reflect.TypeFor[quietList]() }

// fieldNames lists the field names that a struct accepts.
func (s keySchema) fieldNames() []string {
	var out []string
	if s.isSectionList() {
		return shapeOf(s.Elem()).fieldNames()
	}
	if s.isAccount() {
		return accountKeys()
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

// findField returns the schema of a key directly inside this one.
func (s keySchema) findField(name string) (keySchema, bool) {
	switch {
	case s.isOpen():
		return keySchema{reflect.TypeFor[any]()}, true
	case s.Kind() == reflect.Map:
		return shapeOf(s.Elem()), !s.isAccount() || slices.Contains(accountKeys(), name)
	case s.Kind() == reflect.Slice:
		return shapeOf(s.Elem()).findField(name)
	case s.Kind() != reflect.Struct:
		return keySchema{}, false
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
	return keySchema{}, false
}

// describeAccepted describes the values that a key with this schema accepts.
func (s keySchema) describeAccepted() string {
	switch {
	case s.Type == reflect.TypeFor[Duration]():
		return `a duration such as "30s", "15m" or "2h"`
	case s.Type == reflect.TypeFor[Size]():
		return `a size such as "500KB" or "10MB"`
	case s.isText(), s.Kind() == reflect.String:
		return "text in quotes"
	case s.Kind() == reflect.Bool:
		return "true or false"
	case s.CanInt(), s.CanUint():
		return "a whole number"
	case s.CanFloat():
		return "a number"
	case s.isSectionList():
		return "a list of sections"
	case s.Kind() == reflect.Slice:
		return `a list such as ["a", "b"]`
	}
	return "a section"
}

// CanInt reports whether the type is a signed integer.
func (s keySchema) CanInt() bool { return s.Kind() >= reflect.Int && s.Kind() <= reflect.Int64 }

// CanUint reports whether the type is an unsigned integer.
func (s keySchema) CanUint() bool { return s.Kind() >= reflect.Uint && s.Kind() <= reflect.Uint64 }

// CanFloat reports whether the type is a floating point number.
func (s keySchema) CanFloat() bool { return s.Kind() == reflect.Float32 || s.Kind() == reflect.Float64 }

// canTakeKind reports whether the type accepts a TOML value of kind k.
func (s keySchema) canTakeKind(k unstable.Kind) bool {
	switch {
	case s.Type == reflect.TypeFor[driverSection]():
		return k == unstable.Table || k == unstable.InlineTable
	case s.isOpen():
		return true
	case s.isText(), s.Kind() == reflect.String:
		return k == unstable.String
	case s.Kind() == reflect.Bool:
		return k == unstable.Bool
	case s.CanInt(), s.CanUint():
		return k == unstable.Integer
	case s.CanFloat():
		return k == unstable.Float || k == unstable.Integer
	case s.Kind() == reflect.Slice:
		return k == unstable.Array || k == unstable.ArrayTable || s.canStandAlone() && (k == unstable.Table || k == unstable.InlineTable)
	}
	return k == unstable.Table || k == unstable.InlineTable
}

// checkKeys compares the keys below prefix with the fields of t. Keys in skip are checked
// elsewhere.
func (d *document) checkKeys(t reflect.Type, prefix []string, skip ...string) Errors {
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

func (d *document) checkEntry(e *entry, root keySchema, from int) *Error {
	s := root
	for i := from; i < len(e.path); i++ {
		next, ok := s.findField(e.path[i])
		if !ok {
			return &Error{File: d.file, Line: e.line, Key: joinKey(e.path[:i+1]), Msg: unknownKey(root, s, e.path, from, i)}
		}
		s = next
	}
	bad := func() *Error {
		return &Error{File: d.file, Line: e.line, Key: joinKey(e.path), Msg: d.formatValue(e) + "must be " + s.describeAccepted()}
	}
	if !s.canTakeKind(e.kind) {
		return bad()
	}
	if s.Kind() == reflect.Slice && !s.isOpen() && e.kind == unstable.Array {
		for _, k := range e.elems {
			if !shapeOf(s.Elem()).canTakeKind(k) {
				return bad()
			}
		}
	}
	if s.isText() && e.kind == unstable.String {
		v, ok := reflect.New(s.Type).Interface().(encoding.TextUnmarshaler)
		if ok && v.UnmarshalText(e.data) != nil {
			return bad()
		}
	}
	return nil
}

// formatValue returns the value for use in an error, unless it is a secret.
func (d *document) formatValue(e *entry) string {
	if e.isHeader() || isSecretPath(e.path) {
		return ""
	}
	v := string(d.text[e.value:e.end])
	if r := []rune(v); len(r) > 60 {
		v = string(r[:60]) + "..."
	}
	return strings.ReplaceAll(v, "\n", " ") + ": "
}

// unknownKey returns the error text for an unknown key. It suggests the most similar key, or
// lists the accepted keys.
func unknownKey(root, s keySchema, path []string, from, i int) string {
	what := "unknown key"
	if i == 0 {
		what = "unknown section"
	}
	if !s.isSection() && !s.isSectionList() {
		return "unknown key; " + joinKey(path[:i]) + " is " + s.describeAccepted() + ", not a section"
	}
	in := path[:i]
	if near := nearestName(path[i], s.fieldNames()); near != "" {
		return fmt.Sprintf("%s; did you mean %q?", what, joinKey(append(slices.Clone(in), near)))
	}
	// Suggest a key with this name in another section.
	if from == 0 {
		for _, section := range root.fieldNames() {
			f, _ := root.findField(section)
			if slices.Contains(f.fieldNames(), path[len(path)-1]) {
				return fmt.Sprintf("%s; did you mean %q?", what, section+"."+path[len(path)-1])
			}
		}
	}
	if len(in) == 0 {
		return what + "; the sections are " + strings.Join(s.fieldNames(), ", ")
	}
	return fmt.Sprintf("%s; [%s] accepts %s", what, joinKey(in), strings.Join(s.fieldNames(), ", "))
}

// SuggestName returns the most similar name, or "" if none is similar.
func SuggestName(name string, names []string) string { return nearestName(name, names) }

// nearestName returns the most similar name, or "" if none is similar.
func nearestName(name string, names []string) string {
	best, near := max(1, (len(name)+2)/3)+1, ""
	for _, n := range names {
		if d := editDistance(strings.ToLower(name), n); d < best {
			best, near = d, n
		}
	}
	return near
}

// editDistance returns the Levenshtein distance, with a swap of adjacent characters counted once.
func editDistance(a, b string) int {
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

// isSecretPath reports whether the value at a path is a credential, judging by the name of the key,
// or of the variable, header or parameter of an MCP server or OpenAPI service.
func isSecretPath(path []string) bool {
	last := path[len(path)-1]
	server := len(path) == 5 && path[0] == "mcp" && (path[3] == "env" || path[3] == "headers")
	service := len(path) == 4 && path[0] == "openapi" && (path[2] == "headers" || path[2] == "query")
	if !server && !service {
		return isSecretKey(last)
	}
	return slices.ContainsFunc([]string{"key", "token", "secret", "pass", "auth", "cookie", "cred"}, func(s string) bool { return strings.Contains(strings.ToLower(last), s) })
}

// isSecretKey reports whether a key called name contains a credential.
func isSecretKey(name string) bool {
	for _, s := range []string{"api_key", "key", "password", "secret", "token"} {
		if name == s || strings.HasSuffix(name, "_"+s) {
			return true
		}
	}
	return false
}
