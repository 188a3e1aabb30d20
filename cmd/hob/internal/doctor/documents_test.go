package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/autonomy/config"
)

func TestDocuments(t *testing.T) {
	there := t.TempDir()
	file := filepath.Join(there, "a.txt")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	says := func(list ...Document) func(context.Context) ([]Document, error) {
		return func(context.Context) ([]Document, error) { return list, nil }
	}
	for _, tc := range []struct {
		name    string
		folders []string
		ask     func(context.Context) ([]Document, error)
		state   State // "" = no finding
		want    string
	}{
		{"no folders configured", nil, nil, "", ""},
		{"without a daemon", []string{there}, nil, OK, "1 folder is present"},
		{"missing", []string{filepath.Join(there, "gone")}, nil, Warn, "does not exist"},
		{"not a folder", []string{file}, says(), Warn, "is not a folder"},
		{"all is well", []string{there}, says(), OK, "all documents in 1 folder"},
		{"broken", nil, says(Document{Source: "file:/n/scan.pdf", Error: "the file is broken"}), Warn, "scan.pdf: the file is broken"},
		{"no answer", nil, func(context.Context) ([]Document, error) { return nil, errors.New("it broke") }, Fail, "it broke"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := checkDocuments(t.Context(), Env{Config: &config.Config{Knowledge: config.Knowledge{Folders: tc.folders}}, Documents: tc.ask})
			if tc.state == "" {
				if len(got) > 0 {
					t.Errorf("%+v", got)
				}
				return
			}
			if len(got) != 1 || got[0].State != tc.state || !strings.Contains(got[0].Cause, tc.want) || (tc.state != OK && got[0].Remedy == "") {
				t.Errorf("%+v", got)
			}
		})
	}
}
