package doctor

import (
	"cmp"
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

	"hob/platform/host/system"
	"hob/platform/store"
	"hob/platform/store/snapshot"
	"hob/platform/text/sorting"
)

const (
	fewBytes  = 500 << 20
	noBytes   = 50 << 20
	fewWatch  = 8192 // number of inotify watches
	logWindow = 256 << 10
)

func checkHome(_ context.Context, e Env) []Check {
	var out []Check
	for _, dir := range []string{e.Paths.Home, e.Paths.Data} {
		fi, err := os.Stat(dir)
		link := isLink(dir)
		switch {
		case link && (err != nil || !system.IsOwnedByUser(fi)):
			out = append(out, checkLinkTarget("home", dir)...)
			continue
		case errors.Is(err, fs.ErrNotExist):
			if err := checkCreatable(dir); err != nil {
				out = append(out, failWithError("home", err, "set HOB_HOME to a writable folder")...)
			}
			continue // the first start creates the folder
		case err != nil:
			out = append(out, failCheck("home", err.Error(), "make the folder readable, or set HOB_HOME to another one")...)
			continue
		case !fi.IsDir():
			out = append(out, failCheck("home", dir+" is not a folder", "move the file elsewhere, or set HOB_HOME to another folder")...)
			continue
		}
		out = append(out, checkHomeFolder(dir, fi)...)
		if e.Paths.Home == e.Paths.Data {
			break
		}
	}
	if len(out) == 0 {
		return okCheck("home", e.Paths.Home+" is writable and private")
	}
	return out
}

// checkHomeFolder checks one of the two required folders.
func checkHomeFolder(dir string, fi fs.FileInfo) (out []Check) {
	if !system.IsOwnedByUser(fi) {
		out = append(out, foreignOwnerCheck("home", dir)...)
	}
	fix := closeAccessFix([]string{dir})
	mine := system.IsOwnedByUser(fi) && !isLink(dir)
	perm := fi.Mode().Perm()
	remedy := fixRemedy + ", or: chmod 700 " + system.QuoteForShell(dir)
	if !mine {
		remedy = "run: chmod 700 " + system.QuoteForShell(dir)
	}
	var c []Check
	if err := system.Writable(dir); err != nil {
		c = failWithError("home", err, "")
		mine = mine && errors.Is(err, fs.ErrPermission) && perm&privateDir != privateDir // otherwise the file system denies the write, not the file mode
		if mine {
			c[0].Remedy += " (" + fixRemedy + ")"
		}
	} else if system.OthersMayRead(fi) {
		c = warnCheck("home", fmt.Sprintf("other users can read %s (mode %04o)", dir, perm), remedy)
		if perm&othersWrite != 0 {
			c = failCheck("home", fmt.Sprintf("other users can add and remove files in %s (mode %04o); check that all files there are yours", dir, perm), remedy)
		}
	}
	if mine && len(c) > 0 {
		c = withFix(fix, c)
	}
	return append(out, c...)
}

func isLink(path string) bool {
	fi, err := os.Lstat(path)
	return err == nil && fi.Mode()&fs.ModeSymlink != 0
}

// nearestExisting returns dir or its nearest existing ancestor.
func nearestExisting(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// checkCreatable checks that dir can be created.
func checkCreatable(dir string) error { return system.Writable(nearestExisting(dir)) }

func checkDisk(_ context.Context, e Env) []Check {
	dir := nearestExisting(e.Paths.Data)
	n, err := system.DiskFree(dir)
	switch {
	case err != nil:
		return skipCheck("disk", fmt.Sprintf("read free space of %s: %v", dir, err), "")
	case n < noBytes:
		return failCheck("disk", fmt.Sprintf("only %d MB are free at %s", n>>20, dir), spaceRemedy(e.Paths.Data))
	case n < fewBytes:
		return warnCheck("disk", fmt.Sprintf("only %d MB are free at %s", n>>20, dir), spaceRemedy(e.Paths.Data))
	}
	return okCheck("disk", fmt.Sprintf("%d GB are free", n>>30))
}

// spaceRemedy says where to free space, and names the largest entries of Hob's data folder.
func spaceRemedy(dir string) string {
	list, err := os.ReadDir(dir)
	if err != nil { // the folder does not exist yet
		return "delete other files on the disk of " + dir
	}
	type entry struct {
		name string
		size int64
	}
	var large []entry
	for _, x := range list {
		e := entry{name: x.Name()}
		_ = filepath.WalkDir(filepath.Join(dir, x.Name()), func(_ string, d fs.DirEntry, err error) error { // unreadable entries count as empty
			if err != nil || !d.Type().IsRegular() {
				return nil //nolint:nilerr // see above
			}
			if fi, err := d.Info(); err == nil {
				e.size += fi.Size()
			}
			return nil
		})
		if e.size >= 1<<20 {
			large = append(large, e)
		}
	}
	sorting.ByFunc(large, func(a, b entry) int { return cmp.Compare(b.size, a.size) })
	var names []string
	for _, e := range large[:min(3, len(large))] {
		names = append(names, fmt.Sprintf("%s %d MB", e.name, e.size>>20))
	}
	if len(names) == 0 {
		return "delete other files on the disk of " + dir + "; Hob's data is small"
	}
	return "delete other files on the disk of " + dir + ", or move old snapshots from its folder backups to another disk (largest there: " + strings.Join(names, ", ") + ")"
}

func checkToken(_ context.Context, e Env) []Check {
	path := e.Paths.TokenFile()
	fi, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return okCheck("token", "the first start creates it")
	}
	if err == nil {
		_, err = system.ReadToken(path)
	}
	switch {
	case err != nil:
		return e.newToken(failCheck("token", err.Error(), "delete the file; the next start creates a new one"))
	case system.OthersMayRead(fi):
		return e.newToken(failCheck("token", fmt.Sprintf("other users can read %s (mode %04o) and may have read it", path, fi.Mode().Perm()), "replace it: hob token rotate"))
	}
	return okCheck("token", "is private")
}

// newToken adds a fix that replaces an invalid or exposed token. If a daemon is running, the user
// must replace the token, because clients use it.
func (e Env) newToken(c []Check) []Check {
	if fi, err := os.Lstat(e.Paths.TokenFile()); e.Daemon != 0 || err != nil || !fi.Mode().IsRegular() || !system.IsOwnedByUser(fi) {
		return c
	}
	c[0].Remedy += "; or: " + fixRemedy
	return withFix(func(context.Context) (string, error) {
		_, err := system.NewToken(e.Paths.TokenFile())
		return "created a new token", err
	}, c)
}

func checkDatabase(ctx context.Context, e Env) []Check {
	path := e.Paths.Database()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if list, _ := snapshot.List(e.Paths.Backups()); len(list) > 0 { // checkBackup reports an unreadable folder
			return warnCheck("database", "the database file is missing", "the next start uses the newest good backup; to choose another one: hob restore NAME")
		}
		return okCheck("database", "the first start creates it")
	}
	if f, err := os.OpenFile(path, os.O_RDWR, 0); err != nil {
		return failCheck("database", fmt.Sprintf("open database: %v", err), "make the file readable and writable, or set HOB_HOME to another folder")
	} else if err := f.Close(); err != nil {
		return warnCheck("database", err.Error(), "")
	}
	switch err := store.DiagnoseFile(ctx, path, e.Tables); {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return skipCheck("database", fmt.Sprintf("too large to check within %s", deadline), "")
	case err != nil:
		return failWithError("database", err, "see the log: "+e.Paths.LogFile())
	}
	return okCheck("database", "is sound")
}

func checkPort(ctx context.Context, e Env) []Check {
	out := checkListenPort(ctx, e)
	listen := e.Config.Web.Listen
	host, _, err := net.SplitHostPort(listen)
	if a, bad := netip.ParseAddr(host); err == nil && host != "localhost" && (bad != nil || !a.Unmap().IsLoopback()) {
		out = append(out, warnCheck("reach", "other machines can reach Hob at "+listen+", with its token or password",
			`if this is not needed: hob config set web.listen "127.0.0.1:7717"; an SSH tunnel still works`)...)
	}
	return out
}

func checkListenPort(ctx context.Context, e Env) []Check {
	listen := e.Config.Web.Listen
	if e.Daemon != 0 {
		at, found, err := system.ReadEndpoint(e.Paths.EndpointFile(), e.Daemon)
		switch {
		case err != nil || !found:
			return warnCheck("port", "the running daemon has not published its address", "restart it: hob stop, then hob start")
		case at.Address != listen && !strings.HasSuffix(listen, ":0"):
			return warnCheck("port", fmt.Sprintf("the daemon listens on %s, but the configuration says %s: another program used that address, or the configuration changed", at.Address, listen), "stop the other program or choose another port, then restart: hob stop, then hob start")
		}
		return okCheck("port", "the daemon listens on "+at.Address)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return warnCheck("port", "another program listens on "+listen+", so Hob would listen on a free port", `stop it, or choose another port: hob config set web.listen "127.0.0.1:7718"`)
	case err != nil:
		return failCheck("port", fmt.Sprintf("cannot listen on %s: %v", listen, err), "choose another address: hob config set web.listen 127.0.0.1:7717")
	}
	if err := l.Close(); err != nil {
		return warnCheck("port", err.Error(), "")
	}
	return okCheck("port", listen+" is free")
}

func checkZone(_ context.Context, e Env) []Check {
	name := e.Config.Agent.Timezone
	if name == "Local" {
		var err error
		if name, err = system.LocalZone(); err != nil {
			return warnCheck("zone", err.Error(), "set it: hob config set agent.timezone Europe/Vilnius")
		}
	}
	loc, err := system.Zone(name)
	if err != nil {
		return failCheck("zone", err.Error(), "set it: hob config set agent.timezone Europe/Vilnius")
	}
	return okCheck("zone", fmt.Sprintf("%s, where it is %s", loc, e.Now.In(loc).Format("15:04 on Monday 2 January 2006")))
}

// tooFar is the clock difference to a server above which the check fails.
const tooFar = 2 * time.Minute

func checkClock(_ context.Context, e Env) []Check {
	const remedy = "set this machine's clock and enable network time"
	if e.Now.Year() < 2026 {
		return failCheck("clock", "the clock shows "+e.Now.Format(time.DateOnly)+", which is before this version of Hob was built", remedy)
	}
	for _, path := range []string{e.Paths.Database(), e.Paths.Database() + "-wal"} {
		fi, err := os.Stat(path)
		if err == nil && fi.ModTime().After(e.Now.Add(10*time.Minute)) {
			return warnCheck("clock", fmt.Sprintf("the database was last changed at %s, in the future: the clock was set back", fi.ModTime().Format(time.RFC3339)), remedy)
		}
	}
	off, from, said := e.dates.clockSkew()
	switch {
	case !said:
		return okCheck("clock", "plausible; no server reported the time")
	case off.Abs() > tooFar:
		ahead := "ahead of"
		if off < 0 {
			ahead = "behind"
		}
		by := strings.TrimSuffix(off.Abs().Round(time.Minute).String(), "0s") // rounded, because the server sends integer seconds and the request took time
		return warnCheck("clock", fmt.Sprintf("%s %s the time of %s", by, ahead, from), remedy)
	}
	return okCheck("clock", "agrees with "+from)
}

func checkLog(_ context.Context, e Env) []Check {
	f, err := os.Open(e.Paths.LogFile())
	if errors.Is(err, fs.ErrNotExist) {
		return okCheck("log", "no errors")
	}
	if err != nil {
		return warnCheck("log", err.Error(), "")
	}
	defer f.Close()
	if fi, err := f.Stat(); err == nil && fi.Size() > logWindow {
		if _, err := f.Seek(-logWindow, io.SeekEnd); err != nil {
			return warnCheck("log", err.Error(), "")
		}
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return warnCheck("log", err.Error(), "")
	}
	n, last := 0, ""
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, "level=ERROR") && isRecentLine(line, e.Now) {
			n, last = n+1, strings.TrimSpace(line)
		}
	}
	if n > 0 {
		return warnCheck("log", fmt.Sprintf("%d errors in the last day; the last one: %s", n, last), "read "+e.Paths.LogFile())
	}
	return okCheck("log", "no errors in the last day")
}

// isRecentLine reports whether a log line in slog's text format has a recent time.
func isRecentLine(line string, now time.Time) bool {
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
		return nil // the system is not Linux
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return warnCheck("watches", "read the inotify limit: "+err.Error(), "")
	}
	if n < fewWatch {
		return warnCheck("watches", fmt.Sprintf("the system limits watched folders to %d", n), "as root: sysctl fs.inotify.max_user_watches=524288")
	}
	return okCheck("watches", fmt.Sprintf("up to %d folders can be watched", n))
}
