package desktop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"hob/platform/host/osrun"
)

func lookFocus(_ context.Context, o Options) (Focus, string, error) {
	f, err := os.Open(filepath.Join(o.Getenv("HOME"), "Library", "DoNotDisturb", "DB", "Assertions.json"))
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("macOS reports its focus mode only to programs with Full Disk Access: %w; allow Hob in System Settings, Privacy & Security, Full Disk Access (x-apple.systempreferences:com.apple.preference.security?Privacy_AllFiles)", err)
	}
	if err != nil {
		return FocusUnknown, "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return FocusUnknown, "", err
	}
	return readAssertions(b)
}

// Available reports whether this process may have a desktop. On macOS it returns false, so that the
// user must opt in: notifications of osascript belong to Script Editor and are dropped until the
// user allows them.
func Available(func(string) string) bool { return false }

func newShower(o Options, _ chan<- Event) notificationBackend { return bannerBackend{o} }

type bannerBackend struct{ opt Options }

func (b bannerBackend) showNotification(ctx context.Context, n Notification) error {
	return bannerError(b.opt.Scripts.Run(ctx, osrun.Call{Script: bannerScript(), In: newBanner(b.opt.App, n), Write: true, Wait: b.opt.Wait}, nil))
}

// withdrawNotification does nothing: a banner cannot be withdrawn.
func (bannerBackend) withdrawNotification(context.Context, string) error { return nil }

func (bannerBackend) serverInfo(context.Context) (Server, error) {
	return Server{Name: "osascript (shown as Script Editor, if Script Editor may show notifications)"}, nil
}

func (bannerBackend) close() {}

// openWait is the timeout for opening an address.
const openWait = 10 * time.Second

// Open shows an address in the user's browser, through Launch Services.
func (n *NotificationClient) Open(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, openWait)
	defer cancel()
	cmd := exec.Command("/usr/bin/open", address) //nolint:noctx // Output ends the whole process tree
	if _, err := osrun.Output(ctx, cmd, nil); err != nil {
		return fmt.Errorf("desktop: open the browser: %w", err)
	}
	return nil
}

const ioreg = "/usr/sbin/ioreg"

func detectPresence(ctx context.Context, _ Options) (Presence, error) {
	p := Presence{By: "ioreg"}
	out, err := osrun.Output(ctx, exec.Command(ioreg, "-c", "IOHIDSystem", "-d", "4", "-r"), nil) //nolint:noctx // Output ends the whole process tree
	if err != nil {
		return p, fmt.Errorf("desktop: %w: %w", ErrUnseen, err)
	}
	if p.Idle, err = readIdle(out); err != nil {
		return p, err
	}
	p.IdleKnown = true
	if out, err := osrun.Output(ctx, exec.Command(ioreg, "-n", "Root", "-d1", "-a"), nil); err == nil { //nolint:noctx // Output ends the whole process tree
		p.Locked, p.LockKnown = readLocked(out)
	}
	return p, nil
}
