package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"hob/platform/host/system/autostart"
)

// checkAutostart checks whether this program starts with the login session.
func checkAutostart(ctx context.Context, e Env) []Check {
	const name, again = "autostart", "hob service install"
	if e.Program == "" {
		return skipCheck(name, "the path of this program is unknown", "see: hob service status")
	}
	m, err := autostart.New(ctx, autostart.Options{Getenv: e.Getenv})
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return skipCheck(name, "starting at login is not supported on this system", "configure your system to run this at login: hob start")
	case err != nil:
		return skipCheck(name, err.Error(), "see: hob service status")
	}
	entry := autostart.Self(e.Program, e.Paths.Home, e.Paths.LogFile(), e.lookupEnv)
	s, err := m.Status(ctx, entry)
	switch {
	case err != nil:
		return failWithError(name, err, "see: hob service status")
	case !s.Installed:
		return okCheck(name, "Hob does not start when you log in (enable with "+again+")")
	case s.Program == "":
		return failCheck(name, s.Place+" names no program", again)
	}
	switch _, err := os.Stat(s.Program); {
	case errors.Is(err, fs.ErrNotExist):
		was := entry
		was.Program = s.Program
		if was, err := m.Status(ctx, was); err != nil || !was.Same { // the program may be on a disk that is not connected
			return failCheck(name, fmt.Sprintf("%s was written for another home or by an older version of Hob, and starts %s, which does not exist", s.Place, s.Program), "to start this program instead: "+again)
		}
		c := failCheck(name, fmt.Sprintf("%s starts %s, which no longer exists", s.Place, s.Program), fixRemedy+", or: "+again)
		return withFix(func(ctx context.Context) (string, error) {
			return fmt.Sprintf("%s starts %s now", s.Place, entry.Program), m.Install(ctx, entry, false)
		}, c)
	case err != nil:
		return skipCheck(name, fmt.Sprintf("%s starts %s, which cannot be checked: %v", s.Place, s.Program, withoutPath(err)), again)
	case s.Program != entry.Program:
		return warnCheck(name, fmt.Sprintf("%s starts %s, but this program is %s", s.Place, s.Program, entry.Program), "to start this program instead: "+again)
	case !s.Same:
		return warnCheck(name, s.Place+" was written for another home or by an older version of Hob", "to start this program instead: "+again)
	case !s.Enabled:
		return warnCheck(name, s.Place+" is disabled"+noteSuffix(s.Note), "enable it: "+again)
	case s.Note != "":
		return warnCheck(name, s.Place+noteSuffix(s.Note), "see: hob service status")
	}
	return okCheck(name, "Hob starts when you log in ("+s.Place+")")
}

func noteSuffix(note string) string {
	if note == "" {
		return ""
	}
	return ": " + note
}
