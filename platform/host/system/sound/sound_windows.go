package sound

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

func newBackend(Options) backend { return windowsBackend{} }

// windowsBackend uses the default output of Windows (Core Audio, learn.microsoft.com, "IAudioEndpointVolume").
type windowsBackend struct{}

var (
	clsidEnumerator = windows.GUID{Data1: 0xBCDE0395, Data2: 0xE52F, Data3: 0x467C, Data4: [8]byte{0x8E, 0x3D, 0xC4, 0x57, 0x92, 0x91, 0x69, 0x2E}}
	iidEnumerator   = windows.GUID{Data1: 0xA95664D2, Data2: 0x9614, Data3: 0x4F35, Data4: [8]byte{0xA7, 0x46, 0xDE, 0x8D, 0xB6, 0x36, 0x17, 0xE6}}
	iidVolume       = windows.GUID{Data1: 0x5CDF2C82, Data2: 0x841E, Data3: 0x4546, Data4: [8]byte{0x97, 0x22, 0x0C, 0xF7, 0x40, 0x78, 0x22, 0x9A}}
)

// Indexes of methods in their tables; IUnknown has the first three.
const (
	release         = 2
	defaultEndpoint = 4  // IMMDeviceEnumerator.GetDefaultAudioEndpoint(flow, role, **device)
	activate        = 3  // IMMDevice.Activate(iid, context, params, **interface)
	setScalar       = 7  // IAudioEndpointVolume.SetMasterVolumeLevelScalar(float, guid)
	getScalar       = 9  // GetMasterVolumeLevelScalar(*float)
	setMute         = 14 // SetMute(BOOL, guid)
	getMute         = 15 // GetMute(*BOOL)
	stepInfo        = 16 // GetVolumeStepInfo(*step, *steps)
	stepUp          = 17 // VolumeStepUp(guid)
	stepDown        = 18 // VolumeStepDown(guid)

	clsctxAll = 23 // CLSCTX_ALL
	render    = 0  // eRender
	media     = 1  // eMultimedia
)

// comObject is a COM object: a pointer to a pointer to its table of methods.
type comObject struct{ table *[32]uintptr }

func (o *comObject) callMethod(method int, args ...uintptr) error {
	all := append([]uintptr{uintptr(unsafe.Pointer(o))}, args...)
	if hr, _, _ := syscall.SyscallN(o.table[method], all...); int32(hr) < 0 { //nolint:gosec // an HRESULT
		return fmt.Errorf("Core Audio: call failed with 0x%08X", uint32(hr))
	}
	return nil
}

// withEndpointVolume opens the output's volume control on a locked OS thread.
func withEndpointVolume(do func(v *comObject) error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := windows.CoInitializeEx(0, windows.COINIT_MULTITHREADED); err == nil {
		defer windows.CoUninitialize()
	}
	create := windows.NewLazySystemDLL("ole32.dll").NewProc("CoCreateInstance")
	var enum, device, volume *comObject
	hr, _, _ := create.Call(uintptr(unsafe.Pointer(&clsidEnumerator)), 0, clsctxAll, uintptr(unsafe.Pointer(&iidEnumerator)), uintptr(unsafe.Pointer(&enum)))
	if int32(hr) < 0 || enum == nil { //nolint:gosec // an HRESULT
		return fmt.Errorf("open the sound device list: 0x%08X", uint32(hr))
	}
	defer enum.callMethod(release) //nolint:errcheck // returns a reference count, not an error
	if err := enum.callMethod(defaultEndpoint, render, media, uintptr(unsafe.Pointer(&device))); err != nil {
		return fmt.Errorf("no sound output device: %w", err)
	}
	defer device.callMethod(release) //nolint:errcheck // returns a reference count, not an error
	if err := device.callMethod(activate, uintptr(unsafe.Pointer(&iidVolume)), clsctxAll, 0, uintptr(unsafe.Pointer(&volume))); err != nil {
		return fmt.Errorf("%w: %w", ErrFixed, err)
	}
	defer volume.callMethod(release) //nolint:errcheck // returns a reference count, not an error
	return do(volume)
}

func (windowsBackend) readLevel(context.Context) (l Level, err error) {
	err = withEndpointVolume(func(v *comObject) error {
		var level float32
		if err := v.callMethod(getScalar, uintptr(unsafe.Pointer(&level))); err != nil {
			return err
		}
		var muted int32
		if err := v.callMethod(getMute, uintptr(unsafe.Pointer(&muted))); err != nil {
			return err
		}
		l = Level{Percent: int(math.Round(float64(level) * 100)), Muted: muted != 0}
		return nil
	})
	return l, err
}

func (windowsBackend) setPercent(_ context.Context, percent int) error {
	return withEndpointVolume(func(v *comObject) error {
		if runtime.GOARCH == "amd64" { // Go also fills the floating-point registers
			return v.callMethod(setScalar, uintptr(math.Float32bits(float32(percent)/100)), 0)
		}
		return stepVolume(v, percent)
	})
}

// stepVolume changes the volume step by step, like the volume keys, on architectures where a
// syscall cannot pass a float.
func stepVolume(v *comObject, percent int) error {
	var at, all uint32
	if err := v.callMethod(stepInfo, uintptr(unsafe.Pointer(&at)), uintptr(unsafe.Pointer(&all))); err != nil {
		return err
	}
	if all < 2 || all > 1000 {
		return ErrFixed
	}
	to := uint32(math.Round(float64(percent) / 100 * float64(all-1)))
	for ; at < to; at++ {
		if err := v.callMethod(stepUp, 0); err != nil {
			return err
		}
	}
	for ; at > to; at-- {
		if err := v.callMethod(stepDown, 0); err != nil {
			return err
		}
	}
	return nil
}

func (windowsBackend) setMuted(_ context.Context, on bool) error {
	return withEndpointVolume(func(v *comObject) error {
		var set uintptr
		if on {
			set = 1
		}
		return v.callMethod(setMute, set, 0)
	})
}
