package file

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"hob/watchers"
	"hob/watchers/watcherstest"
)

func TestConformance(t *testing.T) {
	watcherstest.Run(t, watcherstest.Suite{
		New: func() watchers.Driver { return New() },
		Config: func(t *testing.T) json.RawMessage {
			return encodeConfig(t, config{Path: t.TempDir(), Pattern: "*.pdf"})
		},
		Bad: []string{
			`{}`, `{"path":""}`, `{"path":"Downloads"}`, `{"path":"/proc"}`, `{"path":"/sys/class"}`, `{"path":"/dev"}`, `{"path":7}`,
			`{"path":"/tmp","pattern":"a/b"}`, `{"path":"/tmp","pattern":"[a"}`, `{"path":"/tmp","pattern":"{a"}`, `{"path":"/tmp","pattern":"a}"}`,
			`{"path":"/tmp","events":["opened"]}`, `{"path":"/tmp","events":"created"}`, `{"path":"/tmp","recursive":"yes"}`, "{\"path\":\"/tmp\\u0000x\"}",
		},
		Provoke: func(t *testing.T, raw json.RawMessage, n int) {
			var c config
			if err := json.Unmarshal(raw, &c); err != nil {
				t.Fatal(err)
			}
			writeFile(t, filepath.Join(c.Path, fmt.Sprintf("invoice-%d.pdf", n)), "%PDF")
		},
	})
}

func encodeConfig(t testing.TB, c config) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
