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

// tableLeaves lists the values of a table, ordered by key. An empty table counts as a value.
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

// flattenKeys returns the values in a TOML text by dotted key, in a form that can be compared.
func flattenKeys(text string) (map[string]string, error) {
	var table map[string]any
	if err := toml.Unmarshal([]byte(strings.TrimPrefix(text, "\ufeff")), &table); err != nil {
		return nil, fmt.Errorf("configuration cannot be read: %w; fix the file; to check it, run: hob config check", err)
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

// quotePart quotes a part of a key if the part contains a dot, because it would otherwise look like
// two parts.
func quotePart(p string) string {
	if strings.ContainsAny(p, `."`) {
		b, _ := json.Marshal(p) // encoding cannot fail, because every string can be encoded
		return string(b)
	}
	return p
}

// keys3 merges the changes from base to ours with the changes from base to theirs. If both changed
// a key differently, it keeps the value in ours and reports the key as a conflict.
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
