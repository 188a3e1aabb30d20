package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
		{"without a daemon", nil, false, Skip, "while Hob is running"},
		{"all is well", says(Derived{Name: "index", State: "ready"}, Derived{Name: "vectors", State: "off"}), false, OK, "no vectors"},
		{"a little behind", says(Derived{Name: "index", State: "behind", Behind: 12}), false, OK, "searchable"},
		{"far behind", says(Derived{Name: "index", State: "behind", Behind: 20_000}), false, Warn, "20000 changes behind"},
		{"being built", says(Derived{Name: "index", State: "building", Behind: 20_000}), false, OK, "is being built"},
		{"unusable", says(Derived{Name: "index", State: "off", Cause: "locked"}), false, Warn, "locked"},
		{"held", says(Derived{Name: "vectors", State: "held", Cause: "no key"}), false, Warn, "no key"},
		{"a damaged index", nil, true, Warn, "moved to"},
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
				t.Errorf("checkMemory = %+v", got)
			}
		})
	}
}

func TestForgetting(t *testing.T) {
	now := time.Now()
	for _, tc := range []struct {
		name  string
		list  []Erasure
		err   error
		state State // "": no finding
		want  string
	}{
		{"no erasures", nil, nil, "", ""},
		{"all erasures complete", []Erasure{{State: "done"}}, nil, OK, "all deletions are complete"},
		{"a turn is waited for", []Erasure{{State: "open", BegunAt: now.Add(-time.Minute)}, {State: "done"}}, nil, OK, "running turns end"},
		{"a turn does not end", []Erasure{{State: "swept", BegunAt: now.Add(-2 * time.Hour)}}, nil, Warn, "does not end"},
		{"an erasure that cannot finish", []Erasure{{State: "done"}, {State: "open", Trouble: "the disk is full", BegunAt: now}}, nil, Fail, "the disk is full"},
		{"no answer", nil, errors.New("it broke"), Fail, "it broke"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := checkForgetting(t.Context(), Env{Now: now, Erasures: func(context.Context) ([]Erasure, error) { return tc.list, tc.err }})
			if tc.state == "" && got == nil {
				return
			}
			if len(got) != 1 || got[0].State != tc.state || !strings.Contains(got[0].Cause, tc.want) || (tc.state != OK && got[0].Remedy == "") {
				t.Errorf("%+v", got)
			}
		})
	}
}
