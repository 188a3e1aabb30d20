package doctor

import (
	"strings"
	"testing"

	"hob/platform/host/permission"
)

// The finding for a permission that macOS denies Hob says where to grant it.
func TestPermissions(t *testing.T) {
	access := permission.Permission{ID: "accessibility", Name: "Accessibility", Why: "Hob clicks.", Pane: "pane:a", For: "iTerm"}
	disk := permission.Permission{ID: "disk", Name: "Full Disk Access", Why: "Hob reads Mail.", Pane: "pane:d", For: "iTerm", Restart: true}
	screen := permission.Permission{ID: "screen", Name: "Screen Recording", Pane: "pane:s", For: "iTerm", Given: true}
	got := missingPermissionChecks([]permission.Permission{access, disk, screen})
	if len(got) != 2 || got[0].State != Warn || got[0].Link != "pane:a" || got[0].Fixable || !strings.Contains(got[0].Remedy, "iTerm") || strings.Contains(got[0].Remedy, "restart Hob") ||
		got[1].Link != "pane:d" || !strings.Contains(got[1].Remedy, "restart Hob") {
		t.Errorf("%+v", got)
	}
	if got := missingPermissionChecks([]permission.Permission{screen}); len(got) != 1 || got[0].State != OK {
		t.Errorf("missingPermissionChecks = %+v", got)
	}
	if got := missingPermissionChecks(nil); got != nil {
		t.Errorf("missingPermissionChecks = %+v, want nil", got)
	}
}
