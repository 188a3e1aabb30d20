package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/platform/host/system"
)

func TestMemory(t *testing.T) {
	says := func(list ...Derived) func(context.Context) ([]Derived, error) {
		return func(context.Context) ([]Derived, error) { return list, nil }
	}
	for _, tc := range []struct {
		name    string
		ask     func(context.Context) ([]Derived, error)
		damaged bool
		state   State
		want    string
	}{
		{"without a daemon", nil, false, Skip, "while Hob runs"},
		{"all is well", says(Derived{Name: "index", State: "ready"}, Derived{Name: "vectors", State: "off"}), false, OK, "no vectors"},
		{"a little behind", says(Derived{Name: "index", State: "behind", Behind: 12}), false, OK, "searchable"},
		{"far behind", says(Derived{Name: "index", State: "behind", Behind: 20_000}), false, Warn, "20000 changes behind"},
		{"it is being made", says(Derived{Name: "index", State: "building", Behind: 20_000}), false, OK, "is being built"},
		{"it cannot be used", says(Derived{Name: "index", State: "off", Cause: "locked"}), false, Warn, "locked"},
		{"held", says(Derived{Name: "vectors", State: "held", Cause: "no key"}), false, Warn, "no key"},
		{"it was damaged", nil, true, Warn, "moved to"},
		{"no answer", func(context.Context) ([]Derived, error) { return nil, errors.New("it broke") }, false, Fail, "it broke"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := Env{Paths: system.Paths{Data: t.TempDir()}, Memory: tc.ask}
			if tc.damaged {
				if err := os.MkdirAll(filepath.Join(e.Paths.Index(), "damaged"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			got := checkMemory(t.Context(), e)
			if len(got) != 1 || got[0].State != tc.state || !strings.Contains(got[0].Cause, tc.want) || (tc.state != OK && got[0].Remedy == "") {
				t.Errorf("%+v", got)
			}
		})
	}
}
