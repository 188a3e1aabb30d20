package desktop

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"hob/platform/host/osrun"
)

// openWait is the timeout for opening an address.
const openWait = 10 * time.Second

// Open shows an address in the user's browser, through Launch Services.
func (n *NotificationClient) Open(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, openWait)
	defer cancel()
	cmd := exec.Command("/usr/bin/open", address) //nolint:noctx // its tree is ended whole by Output
	if _, err := osrun.Output(ctx, cmd, nil); err != nil {
		return fmt.Errorf("desktop: open the browser: %w", err)
	}
	return nil
}
