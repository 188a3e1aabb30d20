package provenance_test

import (
	"testing"

	"hob/platform/provenance"
)

func TestTainted(t *testing.T) {
	for s, want := range map[provenance.Source]bool{
		provenance.Owner: false, provenance.Hob: false, provenance.Tool: false,
		provenance.Outside: true, provenance.Unknown: true, "Owner": true, "something new": true,
	} {
		if s.Tainted() != want {
			t.Errorf("%q: %v, want %v", s, !want, want)
		}
	}
}

func TestWorst(t *testing.T) {
	for _, tc := range []struct {
		name    string
		sources []provenance.Source
		want    provenance.Source
	}{
		{"none", nil, provenance.Hob},
		{"one clean", []provenance.Source{provenance.Owner}, provenance.Owner},
		{"the first of the clean", []provenance.Source{provenance.Tool, provenance.Owner}, provenance.Tool},
		{"one outside", []provenance.Source{provenance.Owner, provenance.Outside, provenance.Hob}, provenance.Outside},
		{"one not set", []provenance.Source{provenance.Owner, provenance.Unknown}, provenance.Outside},
		{"an unknown source", []provenance.Source{"x"}, provenance.Outside},
	} {
		if got := provenance.Worst(tc.sources...); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
