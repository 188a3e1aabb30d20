package document

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

// limitResources limits the memory of this process by assigning it to a job object.
func limitResources(memory uint64) error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return fmt.Errorf("limit worker memory: %w", err)
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_PROCESS_MEMORY},
		ProcessMemoryLimit:    uintptr(memory),
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err == nil {
		err = windows.AssignProcessToJobObject(job, windows.CurrentProcess())
	}
	if err != nil {
		return fmt.Errorf("limit worker memory: %w", err)
	}
	return nil // keep the handle open until the process ends
}
