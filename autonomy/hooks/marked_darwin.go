package hooks

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// killMarked kills the processes whose environment contains mark. macOS hides the environment of
// protected programs such as /bin/sh; killRecordedGroups finds those that stayed in their group.
func killMarked(mark string) {
	for range 200 {
		found := false
		list, err := unix.SysctlKinfoProcSlice("kern.proc.uid", os.Getuid())
		if err != nil {
			return
		}
		for _, p := range list {
			pid := int(p.Proc.P_pid)
			args, err := unix.SysctlRaw("kern.procargs2", pid) // arguments and environment
			if err == nil && pid != os.Getpid() && bytes.Contains(args, []byte("\x00"+mark)) && syscall.Kill(pid, syscall.SIGKILL) == nil {
				found = true
			}
		}
		if !found {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// recordGroup stores the process group of a run, so that the next start can end it if this process
// is killed. The returned function removes the record. Without a record, only marks are found.
func recordGroup(dir string, pid int, limit time.Duration) (forget func()) {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || os.MkdirAll(dir, 0o700) != nil {
		return func() {}
	}
	file := filepath.Join(dir, strconv.Itoa(pid))
	text := groupRecord{Start: startTime(p), Limit: limit}.String()
	if os.WriteFile(file, []byte(text), 0o600) != nil {
		return func() {}
	}
	return func() { _ = os.Remove(file) } // a record without its process is ignored
}

// killRecordedGroups kills the process groups of the runs of a killed Hob.
func killRecordedGroups(dir string) {
	list, _ := os.ReadDir(dir) // usually there is none
	for _, f := range list {
		file := filepath.Join(dir, f.Name())
		pgid, err := strconv.Atoi(f.Name())
		text, readErr := os.ReadFile(file)
		if err == nil && readErr == nil && pgid > 1 {
			killRecordedGroup(pgid, string(text))
		}
		_ = os.Remove(file)
	}
}

func killRecordedGroup(pgid int, text string) {
	r, err := parseGroupRecord(text)
	if err != nil {
		return
	}
	list, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", pgid)
	if err != nil {
		return
	}
	started := map[int]time.Time{}
	for _, p := range list {
		started[int(p.Proc.P_pid)] = startTime(&p)
	}
	if r.isGroup(pgid, started) {
		_ = syscall.Kill(-pgid, syscall.SIGKILL) // the group may have ended
	}
}

func startTime(p *unix.KinfoProc) time.Time {
	return time.Unix(p.Proc.P_starttime.Sec, int64(p.Proc.P_starttime.Usec)*1000)
}
