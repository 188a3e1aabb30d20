package app

import (
	"context"

	"hob/platform/host/permission"
)

// Permissions implements api.Doctor: the system permissions of this process. Only the daemon can check
// them, because macOS grants permissions per process.
func (*backend) Permissions(context.Context) ([]permission.Permission, error) {
	return permission.List(), nil
}
