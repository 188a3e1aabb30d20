package clipboard

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/atotto/clipboard"
	"golang.org/x/sys/windows"
)

func newBackend(Options) backend { return osClipboard{} }

type osClipboard struct{}

func (osClipboard) close() {}

// Formats of the Win32 clipboard (learn.microsoft.com, "Standard Clipboard Formats" and "Cloud
// Clipboard and Clipboard History Formats").
const (
	cfText        = 1
	cfBitmap      = 2
	cfUnicodeText = 13
	cfFiles       = 15
)

func (osClipboard) readClipboard(ctx context.Context) (Content, error) {
	user := windows.NewLazySystemDLL("user32.dll")
	available, register := user.NewProc("IsClipboardFormatAvailable"), user.NewProc("RegisterClipboardFormatW")
	has := func(format uintptr) bool { r, _, _ := available.Call(format); return r != 0 }
	marked := func(name string) bool {
		p, err := windows.UTF16PtrFromString(name)
		if err != nil {
			return false
		}
		f, _, _ := register.Call(textPointer(p))
		return f != 0 && has(f)
	}
	c := Content{Hidden: marked("ExcludeClipboardContentFromMonitorProcessing") || marked("Clipboard Viewer Ignore")}
	switch {
	case has(cfUnicodeText), has(cfText):
		var err error
		if c.Text, err = callLibrary(ctx, clipboard.ReadAll); err != nil {
			return c, fmt.Errorf("%w: another program has opened the clipboard: %w", ErrBusy, err)
		}
	case has(cfFiles):
		c.Formats = []string{"files"}
	case has(cfBitmap):
		c.Formats = []string{"a picture"}
	}
	return c, nil
}

func (osClipboard) writeText(ctx context.Context, text string) error {
	if err := libraryWrite(ctx, text); err != nil {
		return fmt.Errorf("%w: another program has opened the clipboard: %w", ErrBusy, err)
	}
	return nil
}

// textPointer returns p as an argument for a system call. The text must exist until the call
// returns.
func textPointer(p *uint16) uintptr { return uintptr(unsafe.Pointer(p)) } //nolint:gosec // required by the calling convention of Windows
