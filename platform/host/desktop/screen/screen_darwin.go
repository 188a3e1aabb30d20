package screen

import (
	"context"
	"errors"
	"fmt"
	"image"
	"os"
	"os/exec"
	"path/filepath"

	"hob/platform/host/desktop/quartz"
	"hob/platform/host/osrun"
	"hob/platform/host/permission"
)

// seen states whether a black picture is an error: macOS returns one if access is denied.
const seen = true

// captureScreen runs screencapture(1). It first checks the permission, because without it
// screencapture succeeds but shows only the wallpaper or nothing.
func (c *Capturer) captureScreen(ctx context.Context, part image.Rectangle) (img image.Image, err error) {
	if !quartz.MayCapture() {
		return nil, &osrun.Error{
			Kind: osrun.Denied, Script: "screencapture", App: "macOS", Permission: "screen", Cause: "Hob has no Screen Recording permission; a screenshot would be black or show only the wallpaper",
			Remedy: "allow Hob in System Settings, Privacy & Security, Screen Recording, and restart Hob", Link: permission.ScreenPane,
		}
	}
	dir, err := os.MkdirTemp("", "hob-screen-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "screen.png")
	args := []string{"-x", "-t", "png"}
	if !part.Empty() {
		args = append(args, "-R", fmt.Sprintf("%d,%d,%d,%d", part.Min.X, part.Min.Y, part.Dx(), part.Dy()))
	}
	cmd := exec.Command("/usr/sbin/screencapture", append(args, file)...) //nolint:noctx // Output ends the whole process tree
	if _, err := osrun.Output(ctx, cmd, nil); err != nil {
		return nil, fmt.Errorf("the screen is locked, or this session has no screen: %w", err)
	}
	return decodeImageFile(file)
}
