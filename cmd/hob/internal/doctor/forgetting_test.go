package doctor

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestForgetting(t *testing.T) {
	now := time.Now()
	for _, tc := range []struct {
		name  string
		list  []Erasure
		err   error
		state State // "": no finding
		want  string
	}{
		{"nothing was forgotten", nil, nil, "", ""},
		{"all is gone", []Erasure{{State: "done"}}, nil, OK, "all deletions are complete"},
		{"a turn is waited for", []Erasure{{State: "open", BegunAt: now.Add(-time.Minute)}, {State: "done"}}, nil, OK, "running turns end"},
		{"a turn does not end", []Erasure{{State: "swept", BegunAt: now.Add(-2 * time.Hour)}}, nil, Warn, "does not end"},
		{"it cannot be finished", []Erasure{{State: "done"}, {State: "open", Trouble: "the disk is full", BegunAt: now}}, nil, Fail, "the disk is full"},
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
