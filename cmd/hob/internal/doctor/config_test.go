package doctor

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"hob/platform/host/system"
)

func TestTemplates(t *testing.T) {
	paths := system.Paths{Home: t.TempDir()}
	for _, tc := range []struct {
		name    string
		used    string
		pending bool
		err     error
		held    bool
		state   State // "": no finding
		want    string
	}{
		{"none", "", false, nil, false, "", ""},
		{"one is in use", "housekeeper", false, nil, false, OK, "housekeeper is active"},
		{"interrupted", "", true, nil, false, Warn, "interrupted"},
		{"interrupted with one in use", "housekeeper", true, nil, false, Warn, "interrupted"},
		{"incomplete", "housekeeper", true, nil, true, OK, "another command"},
		{"damaged", "", false, errors.New("state.json is damaged"), false, Fail, "damaged"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.held {
				lock, err := system.Acquire(t.Context(), filepath.Join(paths.TemplateState(), "lock"), system.RoleCLI)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = lock.Release() }()
			}
			got := checkTemplates(t.Context(), Env{Paths: paths, Template: func() (string, bool, error) { return tc.used, tc.pending, tc.err }})
			if tc.state == "" && got == nil {
				return
			}
			if len(got) != 1 || got[0].State != tc.state || !strings.Contains(got[0].Cause, tc.want) || (tc.state != OK && got[0].Remedy == "") {
				t.Errorf("%+v", got)
			}
		})
	}
}
