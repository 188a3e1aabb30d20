package osrun

import (
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// processGroup is a job object, which kills its processes when it is closed. A process that the
// child starts before it is assigned to the job is not in the job, but programs do not start others
// that fast.
type processGroup struct{ job windows.Handle }

func (*processGroup) prepareCommand(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{HideWindow: true}
	}
	cmd.SysProcAttr.CreationFlags |= windows.CREATE_NEW_PROCESS_GROUP
}

func (g *processGroup) attachProcess(p *os.Process) error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return err
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err == nil {
		err = assignToJob(job, p)
	}
	if err != nil {
		_ = windows.CloseHandle(job) // only the first error is returned
		return err
	}
	g.job = job
	return nil
}

func assignToJob(job windows.Handle, p *os.Process) error {
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(p.Pid))
	if err != nil {
		return err
	}
	defer windows.CloseHandle(h) //nolint:errcheck // an error cannot be handled
	return windows.AssignProcessToJobObject(job, h)
}

func (*processGroup) terminateGroup(*os.Process) {}

func (g *processGroup) killGroup(*os.Process) { _ = windows.TerminateJobObject(g.job, 1) } // the tree may already have ended

func (g *processGroup) close() { _ = windows.CloseHandle(g.job) } // an error cannot be handled
