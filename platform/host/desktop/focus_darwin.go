package desktop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

func lookFocus(_ context.Context, o Options) (Focus, string, error) {
	f, err := os.Open(filepath.Join(o.Getenv("HOME"), "Library", "DoNotDisturb", "DB", "Assertions.json"))
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("macOS shows its focus mode only to programs with Full Disk Access; allow Hob in System Settings, Privacy & Security, Full Disk Access (x-apple.systempreferences:com.apple.preference.security?Privacy_AllFiles): %w", err)
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
