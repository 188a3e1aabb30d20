package screen

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"hob/platform/host/desktop/session"
	"hob/platform/host/osrun"
)

// onWayland tries grim, which compositors such as sway allow to read the screen, and then the
// desktop's portal.
func onWayland(ctx context.Context, e session.Env, part image.Rectangle) (image.Image, error) {
	img, err := grimScreenshot(ctx, e, part)
	if err == nil || errors.Is(err, ErrEmpty) {
		return img, err
	}
	img, other := portalScreenshot(ctx, e, part)
	if other == nil {
		return img, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, fmt.Errorf("%w; %w", other, err)
}

func grimScreenshot(ctx context.Context, e session.Env, part image.Rectangle) (img image.Image, err error) {
	program, err := exec.LookPath("grim")
	if err != nil {
		return nil, errors.New("grim not found; on sway, Hyprland and similar compositors install the package grim")
	}
	dir, err := os.MkdirTemp("", "hob-screen-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "screen.png")
	args := []string{"-t", "png"}
	if !part.Empty() {
		args = append(args, "-g", fmt.Sprintf("%d,%d %dx%d", part.Min.X, part.Min.Y, part.Dx(), part.Dy()))
	}
	cmd := exec.Command(program, append(args, file)...) //nolint:noctx // Output ends the whole process tree
	cmd.Env = []string{"WAYLAND_DISPLAY=" + e.Wayland, "XDG_RUNTIME_DIR=" + e.RuntimeDir, "HOME=" + e.Home, "LC_ALL=C.UTF-8"}
	if _, err := osrun.Output(ctx, cmd, nil); err != nil {
		if f, ok := errors.AsType[*osrun.Failure](err); ok && strings.Contains(f.Said, "region") {
			return nil, ErrEmpty
		}
		return nil, fmt.Errorf("grim: %w", err)
	}
	return decodeImageFile(file)
}

// cropImage returns a part of a picture of all screens.
func cropImage(img image.Image, part image.Rectangle) (image.Image, error) {
	if part.Empty() {
		return img, nil
	}
	if part = part.Add(img.Bounds().Min).Intersect(img.Bounds()); part.Empty() {
		return nil, ErrEmpty
	}
	out := image.NewRGBA(image.Rect(0, 0, part.Dx(), part.Dy()))
	draw.Draw(out, out.Bounds(), img, part.Min, draw.Src)
	return out, nil
}
