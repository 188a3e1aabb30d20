package doctor

import (
	"context"
	"strings"

	"hob/platform/host/permission"
)

// checkPermissions checks the macOS permissions of this process. It requests none.
func checkPermissions(_ context.Context, e Env) []Check {
	if !e.Desktop {
		return nil
	}
	return missingPermissionChecks(permission.List())
}

// missingPermissionChecks returns a finding for each missing permission, with the settings page that grants it.
func missingPermissionChecks(list []permission.Permission) (out []Check) {
	const name = "permissions"
	var given []string
	for _, p := range list {
		if p.Given {
			given = append(given, p.Name)
			continue
		}
		remedy := "enable " + p.For + " in System Settings, Privacy & Security, " + p.Name
		if p.Restart {
			remedy += ", and restart Hob"
		}
		c := warnCheck(name, p.Name+" is not granted to "+p.For+". With it "+p.Why, remedy)
		c[0].Link = p.Pane
		out = append(out, c...)
	}
	if len(out) > 0 || len(given) == 0 { // other systems ask when something is needed
		return out
	}
	return okCheck(name, strings.Join(given, ", ")+" are given")
}
