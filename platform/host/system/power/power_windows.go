package power

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"
)

func readBattery(context.Context, Options) (Battery, error) {
	var s systemPower
	ok, _, err := windows.NewLazySystemDLL("kernel32.dll").NewProc("GetSystemPowerStatus").Call(uintptr(unsafe.Pointer(&s)))
	if ok == 0 {
		return Battery{}, fmt.Errorf("%w: GetSystemPowerStatus: %w", ErrUnseen, err)
	}
	return s.batteryState()
}

// Event codes of the callback (winuser.h, PBT_*).
const (
	pbtSuspend   = 4
	pbtResume    = 7
	pbtAutomatic = 18

	deviceNotifyCallback = 2
)

// subscription is DEVICE_NOTIFY_SUBSCRIBE_PARAMETERS (powrprof.h).
type subscription struct {
	callback uintptr
	context  uintptr
}

// powerCallback is created only once, because a process can create only a few thousand callbacks,
// which are never freed.
var powerCallback = sync.OnceValue(func() uintptr {
	return windows.NewCallback(func(_, kind, _ uintptr) uintptr {
		if kind == pbtSuspend || kind == pbtResume || kind == pbtAutomatic {
			select {
			case powerEvents <- kind:
			default: // drop the event if the receiver has ended or is slow, because callers also compare the wall clock
			}
		}
		return 0
	})
})

var powerEvents = make(chan uintptr, 8)

// watchSleep registers for suspend and resume (PowerRegisterSuspendResumeNotification).
func watchSleep(ctx context.Context, _ Options, on func(Event)) error {
	lib := windows.NewLazySystemDLL("powrprof.dll")
	register, end := lib.NewProc("PowerRegisterSuspendResumeNotification"), lib.NewProc("PowerUnregisterSuspendResumeNotification")
	if err := errors.Join(register.Find(), end.Find()); err != nil {
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	s := &subscription{callback: powerCallback()}
	var handle uintptr
	if code, _, _ := register.Call(deviceNotifyCallback, uintptr(unsafe.Pointer(s)), uintptr(unsafe.Pointer(&handle))); code != 0 {
		return fmt.Errorf("PowerRegisterSuspendResumeNotification: %w", windows.Errno(code))
	}
	defer end.Call(handle) //nolint:errcheck // the process ends
	for {
		select {
		case <-ctx.Done():
			return nil
		case kind := <-powerEvents:
			on(Event(kind == pbtSuspend))
		}
	}
}
