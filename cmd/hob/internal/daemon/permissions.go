package daemon

import (
	"context"

	"hob/channels/web"
	"hob/platform/permission"
)

// listPermissions is what the system lets this process do. It is the daemon that has
// to look: macOS grants nothing to one process because of another.
func listPermissions(context.Context, web.Query) (any, error) {
	list := permission.List()
	if list == nil {
		list = []permission.Permission{}
	}
	return list, nil
}
