package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hob/knowledge/store"
	"hob/platform/system"
)

const (
	fewBytes  = 500 << 20
	noBytes   = 50 << 20
	fewWatch  = 8192 // inotify watches
	logWindow = 256 << 10
)

func checkHome(_ context.Context, e Env) []Check {
	var out []Check
	for _, dir := range []string{e.Paths.Home, e.Paths.Data} {
		fi, err := os.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err := creatable(dir); err != nil {
				out = append(out, failed("home", err, "set HOB_HOME to a folder that you may write to")...)
			}
			continue // the first start makes it
		case err != nil:
			out = append(out, fail("home", err.Error(), "make the folder readable, or set HOB_HOME to another one")...)
			continue
		case !fi.IsDir():
			out = append(out, fail("home", dir+" is not a folder", "move it away, or set HOB_HOME to another place")...)
			continue
		}
		if err := system.Writable(dir); err != nil {
			out = append(out, failed("home", err, "")...)
		}
		if system.OthersMayRead(fi) {
			out = append(out, warn("home", fmt.Sprintf("other users can look into %s (mode %04o)", dir, fi.Mode().Perm()), "run: chmod 700 "+dir)...)
		}
		if e.Paths.Home == e.Paths.Data {
			break
		}
	}
	if len(out) == 0 {
		return ok("home", e.Paths.Home+" is writable and private")
	}
	return out
}

// existing is the folder or the nearest one above it that is there.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// creatable looks whether the folder can be made.
func creatable(dir string) error { return system.Writable(existing(dir)) }

func checkDisk(_ context.Context, e Env) []Check {
	dir := existing(e.Paths.Data)
	n, err := system.DiskFree(dir)
	switch {
	case err != nil:
		return warn("disk", fmt.Sprintf("cannot tell how much space is left at %s: %v", dir, err), "")
	case n < noBytes:
		return fail("disk", fmt.Sprintf("only %d MB are left at %s", n>>20, dir), "free some space")
	case n < fewBytes:
		return warn("disk", fmt.Sprintf("only %d MB are left at %s", n>>20, dir), "free some space")
	}
	return ok("disk", fmt.Sprintf("%d GB are free", n>>30))
}

func checkToken(_ context.Context, e Env) []Check {
	path := e.Paths.TokenFile()
	fi, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ok("token", "the first start makes it")
	}
	if err == nil {
		_, err = system.ReadToken(path)
	}
	switch {
	case err != nil:
		return fail("token", err.Error(), "delete the file; the next start makes a new one")
	case system.OthersMayRead(fi):
		return fail("token", fmt.Sprintf("other users can read %s (mode %04o)", path, fi.Mode().Perm()), "delete it and restart Hob: that makes a new, private one")
	}
	return ok("token", "is private")
}

func checkDatabase(ctx context.Context, e Env) []Check {
	path := e.Paths.Database()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return ok("database", "the first start makes it")
	}
	if f, err := os.OpenFile(path, os.O_RDWR, 0); err != nil {
		return fail("database", fmt.Sprintf("it cannot be opened: %v", err), "make it a file that you may read and write, or set HOB_HOME to another folder")
	} else if err := f.Close(); err != nil {
		return warn("database", err.Error(), "")
	}
	switch err := store.Examine(ctx, path, e.Tables); {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return warn("database", fmt.Sprintf("it could not be checked in %s", deadline), "")
	case err != nil:
		return failed("database", err, "see what the log says: "+e.Paths.LogFile())
	}
	return ok("database", "is sound")
}

func checkPort(ctx context.Context, e Env) []Check {
	out := port(ctx, e)
	listen := e.Config.Web.Listen
	host, _, err := net.SplitHostPort(listen)
	if a, bad := netip.ParseAddr(host); err == nil && host != "localhost" && (bad != nil || !a.Unmap().IsLoopback()) {
		out = append(out, warn("reach", "other machines can reach Hob at "+listen+", with its token or password",
			`if nobody needs that: hob config set web.listen "127.0.0.1:7717"; an SSH tunnel reaches it, too`)...)
	}
	return out
}

func port(ctx context.Context, e Env) []Check {
	listen := e.Config.Web.Listen
	if e.Daemon != 0 {
		at, found, err := system.ReadEndpoint(e.Paths.EndpointFile(), e.Daemon)
		switch {
		case err != nil || !found:
			return warn("port", "the running daemon has not said where it listens", "restart it: hob stop, then hob start")
		case at.Address != listen && !strings.HasSuffix(listen, ":0"):
			return warn("port", fmt.Sprintf("the daemon listens on %s, the configuration says %s", at.Address, listen), "restart it: hob stop, then hob start")
		}
		return ok("port", "the daemon listens on "+at.Address)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fail("port", "another program listens on "+listen, `end it, or choose another port: hob config set web.listen "127.0.0.1:7718"`)
	case err != nil:
		return fail("port", fmt.Sprintf("cannot listen on %s: %v", listen, err), "choose another address: hob config set web.listen 127.0.0.1:7717")
	}
	if err := l.Close(); err != nil {
		return warn("port", err.Error(), "")
	}
	return ok("port", listen+" is free")
}

func checkZone(_ context.Context, e Env) []Check {
	name := e.Config.Agent.Timezone
	if name == "Local" {
		var err error
		if name, err = system.LocalZone(); err != nil {
			return warn("zone", err.Error(), "set it: hob config set agent.timezone Europe/Vilnius")
		}
	}
	loc, err := system.Zone(name)
	if err != nil {
		return fail("zone", err.Error(), "set it: hob config set agent.timezone Europe/Vilnius")
	}
	return ok("zone", fmt.Sprintf("%s, where it is %s", loc, e.Now.In(loc).Format("15:04 on Monday 2 January 2006")))
}

func checkClock(_ context.Context, e Env) []Check {
	const remedy = "set the machine's clock"
	if e.Now.Year() < 2026 {
		return fail("clock", "the clock says "+e.Now.Format(time.DateOnly)+", which is before Hob was made", remedy)
	}
	for _, path := range []string{e.Paths.Database(), e.Paths.Database() + "-wal"} {
		fi, err := os.Stat(path)
		if err == nil && fi.ModTime().After(e.Now.Add(10*time.Minute)) {
			return warn("clock", fmt.Sprintf("the database was changed at %s, which is in the future: the clock was set back", fi.ModTime().Format(time.RFC3339)), remedy)
		}
	}
	return ok("clock", "is plausible")
}

func checkLog(_ context.Context, e Env) []Check {
	f, err := os.Open(e.Paths.LogFile())
	if errors.Is(err, fs.ErrNotExist) {
		return ok("log", "no errors")
	}
	if err != nil {
		return warn("log", err.Error(), "")
	}
	defer f.Close()
	if fi, err := f.Stat(); err == nil && fi.Size() > logWindow {
		if _, err := f.Seek(-logWindow, io.SeekEnd); err != nil {
			return warn("log", err.Error(), "")
		}
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return warn("log", err.Error(), "")
	}
	n, last := 0, ""
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, "level=ERROR") && recent(line, e.Now) {
			n, last = n+1, strings.TrimSpace(line)
		}
	}
	if n > 0 {
		return warn("log", fmt.Sprintf("%d errors in the last day; the last one: %s", n, last), "read "+e.Paths.LogFile())
	}
	return ok("log", "no errors in the last day")
}

// recent reads the time of a line of slog's text format.
func recent(line string, now time.Time) bool {
	v, is := strings.CutPrefix(line, "time=")
	if !is {
		return false
	}
	v, _, _ = strings.Cut(v, " ")
	t, err := time.Parse(time.RFC3339Nano, v)
	return err == nil && now.Sub(t) < 24*time.Hour
}

func checkWatches(context.Context, Env) []Check {
	b, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	if err != nil {
		return nil // not Linux
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return warn("watches", "the limit of inotify cannot be read: "+err.Error(), "")
	}
	if n < fewWatch {
		return warn("watches", fmt.Sprintf("the system lets programs watch only %d folders", n), "as root: sysctl fs.inotify.max_user_watches=524288")
	}
	return ok("watches", fmt.Sprintf("up to %d folders can be watched", n))
}
