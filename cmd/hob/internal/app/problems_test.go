package app

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hob/autonomy/api"
)

// The status and the tray also show faults that are reported by the log and the doctor.
func TestStatus_ShowsProblems(t *testing.T) {
	h := openDaemon(t, "[triggers.door]\naction = \"see who it is\"\nsecret = \"file:/no/such/file\"\n[triggers.open]\naction = \"see who it is\"\n")
	failOnError(t, os.WriteFile(filepath.Join(h.d.opt.Paths.Data, "upgrade-failed.json"), []byte(`{"version":"v9.9.9","reason":"boom","at":"2026-11-01T10:00:00Z","tries":1}`), 0o600))
	s, err := h.d.service.Status(t.Context())
	failOnError(t, err)
	for name, want := range map[string][]string{
		"trigger": {"the secret of the trigger door is not readable", "/no/such/file", "hob stop && hob start"},
		"upgrade": {"the upgrade to v9.9.9 failed: boom", "hob update --rollback"},
	} {
		i := slices.IndexFunc(s.Problems, func(p api.Problem) bool { return p.Name == name })
		if i < 0 {
			t.Errorf("no problem %s in %+v", name, s.Problems)
			continue
		}
		for _, text := range want {
			if !strings.Contains(s.Problems[i].Text+s.Problems[i].Remedy, text) {
				t.Errorf("problem %s = %+v, want %q", name, s.Problems[i], text)
			}
		}
		if got := h.callTool("status", "{}").Text; !strings.Contains(got, ": "+s.Problems[i].Text) {
			t.Errorf("hob status lacks the problem %s:\n%s", name, got)
		}
	}
	if len(s.Problems) != 2 {
		t.Errorf("problems = %+v, want 2", s.Problems)
	}
}
