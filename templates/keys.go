package templates

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// tableLeaf is one value of a TOML text.
type tableLeaf struct {
	path  []string
	value any
}

// tableLeaves lists the values of a table in order of their keys. An empty table is
// a value, too.
func tableLeaves(table map[string]any) []tableLeaf {
	var out []tableLeaf
	for _, k := range slices.Sorted(maps.Keys(table)) {
		sub, ok := table[k].(map[string]any)
		if !ok {
			out = append(out, tableLeaf{[]string{k}, table[k]})
			continue
		}
		for _, l := range tableLeaves(sub) {
			out = append(out, tableLeaf{append([]string{k}, l.path...), l.value})
		}
	}
	return out
}

// flattenKeys returns the values of a TOML text by dotted key, in a comparable form.
func flattenKeys(text string) (map[string]string, error) {
	var table map[string]any
	if err := toml.Unmarshal([]byte(strings.TrimPrefix(text, "\ufeff")), &table); err != nil {
		return nil, fmt.Errorf("configuration cannot be read: %w; fix it first: hob config check", err)
	}
	out := map[string]string{}
	for _, l := range tableLeaves(table) {
		b, err := json.Marshal(l.value)
		if err != nil {
			b = []byte(fmt.Sprint(l.value))
		}
		for i, p := range l.path {
			l.path[i] = quotePart(p)
		}
		out[strings.Join(l.path, ".")] = string(b)
	}
	return out, nil
}

// quotePart distinguishes a part that contains a dot from two parts.
func quotePart(p string) string {
	if strings.ContainsAny(p, `."`) {
		b, _ := json.Marshal(p) // cannot fail: a string can always be encoded
		return string(b)
	}
	return p
}

// keys3 merges base with the changes in ours and theirs. A key that both changed
// differently keeps the value of ours and is reported as a conflict.
func keys3(base, ours, theirs map[string]string) (merged map[string]string, conflicts []string) {
	merged = map[string]string{}
	all := maps.Clone(base)
	maps.Copy(all, ours)
	maps.Copy(all, theirs)
	for _, k := range slices.Sorted(maps.Keys(all)) {
		b, inB := base[k]
		o, inO := ours[k]
		t, inT := theirs[k]
		v, in := o, inO
		switch {
		case o == b && inO == inB:
			v, in = t, inT
		case t == b && inT == inB, t == o && inT == inO:
		default:
			conflicts = append(conflicts, k)
		}
		if in {
			merged[k] = v
		}
	}
	return merged, conflicts
}
