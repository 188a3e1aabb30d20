package display

import (
	"context"
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

func newBackend(o Options) backend { return windowsBackend{wmiClient{o.Scripts}} }

type windowsBackend struct{ wmiClient }

func (w windowsBackend) readBrightness(ctx context.Context) (int, error) {
	return w.runBrightnessScript(ctx, nil)
}

func (w windowsBackend) setBrightness(ctx context.Context, percent int) error {
	_, err := w.runBrightnessScript(ctx, &percent)
	return err
}

const (
	personalize = `Software\Microsoft\Windows\CurrentVersion\Themes\Personalize`
	appsLight   = "AppsUseLightTheme"
	systemLight = "SystemUsesLightTheme"
)

// isDark reads the app theme. If the value does not exist, apps are light.
func (windowsBackend) isDark(context.Context) (bool, error) {
	k, err := registry.OpenKey(registry.CURRENT_USER, personalize, registry.QUERY_VALUE)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrUnsaid, err)
	}
	defer k.Close() //nolint:errcheck // the key was only read
	light, _, err := k.GetIntegerValue(appsLight)
	return err == nil && light == 0, nil
}

func (windowsBackend) setDark(_ context.Context, on bool) error {
	k, err := registry.OpenKey(registry.CURRENT_USER, personalize, registry.SET_VALUE)
	if err != nil {
		return fmt.Errorf("set the appearance: %w", err)
	}
	defer k.Close() //nolint:errcheck // the registry keeps values without a flush
	light := uint32(1)
	if on {
		light = 0
	}
	for _, name := range []string{appsLight, systemLight} {
		if err := k.SetDWordValue(name, light); err != nil {
			return fmt.Errorf("set the appearance: %w", err)
		}
	}
	broadcastThemeChange()
	return nil
}

// broadcastThemeChange notifies programs that colors changed (WM_SETTINGCHANGE, "ImmersiveColorSet").
// It does not wait for programs that hang.
func broadcastThemeChange() {
	const all, settingChange, abortIfHung, ms = 0xFFFF, 0x001A, 2, 500
	text, err := windows.UTF16PtrFromString("ImmersiveColorSet")
	if err != nil {
		return
	}
	_, _, _ = windows.NewLazySystemDLL("user32.dll").NewProc("SendMessageTimeoutW").Call(all, settingChange, 0, uintptr(unsafe.Pointer(text)), abortIfHung, ms, 0)
}
