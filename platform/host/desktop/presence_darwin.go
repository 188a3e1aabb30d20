package desktop

import (
	"context"
	"fmt"
	"os/exec"

	"hob/platform/host/osrun"
)

const ioreg = "/usr/sbin/ioreg"

func detectPresence(ctx context.Context, _ Options) (Presence, error) {
	p := Presence{By: "ioreg"}
	out, err := osrun.Output(ctx, exec.Command(ioreg, "-c", "IOHIDSystem", "-d", "4", "-r"), nil) //nolint:noctx // its tree is ended whole by Output
	if err != nil {
		return p, fmt.Errorf("desktop: %w: %w", ErrUnseen, err)
	}
	if p.Idle, err = readIdle(out); err != nil {
		return p, err
	}
	p.IdleKnown = true
	if out, err := osrun.Output(ctx, exec.Command(ioreg, "-n", "Root", "-d1", "-a"), nil); err == nil { //nolint:noctx // likewise
		p.Locked, p.LockKnown = readLocked(out)
	}
	return p, nil
}
