package daemon

import (
	"context"

	"hob/channels/web"
	"hob/platform/host/permission"
)

// listPermissions returns the system permissions of this process. Only the daemon can check
// them, because macOS grants permissions per process.
func listPermissions(context.Context, web.Query) (any, error) {
	list := permission.List()
	if list == nil {
		list = []permission.Permission{}
	}
	return list, nil
}
