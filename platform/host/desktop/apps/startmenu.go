package apps

import (
	"context"
	_ "embed" // the script
	"strings"

	"hob/platform/host/osrun"
)

//go:embed startapps.ps1
var startMenuText string

// startScript returns the script that lists the start menu of Windows.
func startScript() osrun.Script { return osrun.NewScript("desktop/apps/startapps.ps1", startMenuText) }

// startMenuItem is an item of the start menu.
type startMenuItem struct {
	Name string `json:"name"`
	ID   string `json:"id"`
}

// startMenu reads the start menu.
func startMenu(ctx context.Context, r osrun.Runner) ([]App, error) { //nolint:unused // on Windows it is
	var a struct {
		Apps []startMenuItem `json:"apps"`
	}
	if err := r.Run(ctx, osrun.Call{Script: startScript(), In: struct{}{}}, &a); err != nil {
		return nil, err
	}
	return menuApps(a.Apps), nil
}

func menuApps(items []startMenuItem) (list []App) {
	for _, x := range items {
		if x.Name != "" && x.ID != "" {
			list = append(list, App{ID: x.ID, Name: x.Name, Shared: sharedID(x.ID), words: []string{strings.ToLower(x.Name)}})
		}
	}
	return list
}

// sharedID reports whether an id belongs to a packaged application, or to a program in the
// folders of Windows and Program Files, which are named by their GUID (KNOWNFOLDERID).
func sharedID(id string) bool {
	if strings.Contains(id, "!") || strings.HasPrefix(id, "Microsoft.") {
		return true
	}
	for _, folder := range []string{"{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}", "{6D809377-6AF0-444B-8957-A3773F02200E}", "{7C5A40EF-A0FB-4BFC-874A-C0F2E0B9FA8E}", "{F38BF404-1D43-42F2-9305-67DE0B28FC23}", "{D65231B0-B2F1-4857-A4CE-A8E7C6EA7D27}"} {
		if strings.HasPrefix(strings.ToUpper(id), folder) {
			return true
		}
	}
	return false
}
