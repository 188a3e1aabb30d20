package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hob/platform/host/system"
	"hob/platform/store"
	"hob/platform/store/snapshot"
	"hob/platform/store/upgrade"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/textnorm"
)

const (
	// oldFile is the minimum age of a temporary file to be removed. A younger file may be in use.
	oldFile = time.Hour
	// socketWait is the timeout for a connection attempt to a socket on this machine.
	socketWait = 300 * time.Millisecond
	// bigLog is the size in bytes above which the write-ahead log is reported. SQLite truncates the
	// log at about 4 MB unless a reader prevents it.
	bigLog = 64 << 20
)

// temporary matches the names of files from unfinished writes and write tests; see system.WriteFile
// and system.Writable.
var temporary = lazyregexp.New(`^\.((config\.toml|token|secrets\.(age|names|identity)|audit\.(key|anchor)|endpoint\.json|(SOUL|USER|MEMORY|AGENTS)\.md)\.|write-test-)\d+$`)

// checkLeftovers searches for files that an interrupted Hob left. None of them prevents the next
// start.
func checkLeftovers(ctx context.Context, e Env) []Check {
	var out []Check
	if e.Daemon == 0 && e.DaemonErr == nil {
		out = append(out, cutOff(e)...)
	}
	out = append(out, deadSockets(ctx, e)...)
	out = append(out, oldFiles(e)...)
	out = append(out, longLog(e)...)
	out = append(out, failedUpgrade(e)...)
	if len(out) == 0 {
		return okCheck("leftovers", "no leftover files")
	}
	return out
}

// cutOff reports a process that exited without releasing the lock.
func cutOff(e Env) []Check {
	dead, there, err := system.Abandoned(e.Paths.LockFile())
	if err != nil {
		cause, remedy := splitRemedy(err, "")
		return skipCheck("leftovers", cause, remedy)
	}
	if !there || dead.PID == os.Getpid() {
		return nil
	}
	what := "a command"
	if dead.Role == system.RoleDaemon {
		what = "the daemon"
	}
	c := warnCheck("leftovers", fmt.Sprintf("%s (pid %d, since %s) was interrupted; leftovers: the lock file%s", what, dead.PID, dead.Since.Local().Format("2006-01-02 15:04"), e.alsoLeft()),
		fixRemedy+"; the next start also clears them")
	return withFix(func(ctx context.Context) (string, error) {
		said := []string{fmt.Sprintf("cleared the lock of pid %d", dead.PID)} // the fix has taken the lock, which overwrote the old one
		if err := os.Remove(e.Paths.EndpointFile()); err == nil {
			said = append(said, "removed "+e.Paths.EndpointFile())
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if fileSize(e.Paths.Database()+"-wal") > 0 {
			if err := store.Checkpoint(ctx, e.Paths.Database()); err != nil {
				return "", err
			}
			said = append(said, "merged the write-ahead log into the database")
		}
		return strings.Join(said, ", "), nil
	}, c)
}

// alsoLeft lists other leftovers next to a lock.
func (e Env) alsoLeft() string {
	more := ""
	if _, err := os.Lstat(e.Paths.EndpointFile()); err == nil {
		more += ", " + filepath.Base(e.Paths.EndpointFile())
	}
	if fileSize(e.Paths.Database()+"-wal") > 0 {
		more += ", the write-ahead log of the database"
	}
	return more
}

func fileSize(path string) int64 {
	fi, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return fi.Size()
}

// deadSockets reports sockets without a listener.
func deadSockets(ctx context.Context, e Env) []Check {
	list, err := os.ReadDir(e.Paths.Runtime)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return skipCheck("leftovers", fmt.Sprintf("read folder %s: %v", e.Paths.Runtime, withoutPath(err)), "take ownership and make it readable")
	}
	var dead []string
	for _, x := range list {
		path := filepath.Join(e.Paths.Runtime, x.Name())
		if x.Type()&fs.ModeSocket != 0 && !doesSocketAnswer(ctx, path) {
			dead = append(dead, path)
		}
	}
	if len(dead) == 0 {
		return nil
	}
	return withFix(removeFilesFix(dead), warnCheck("leftovers", "unused sockets: "+strings.Join(dead, ", "), fixRemedy+", or: rm "+system.QuoteForShell(dead...)))
}

func doesSocketAnswer(ctx context.Context, path string) bool {
	conn, err := (&net.Dialer{Timeout: socketWait}).DialContext(ctx, "unix", path)
	if err != nil {
		return !isConnRefused(err) // only a refused connection proves that the socket is unused
	}
	return conn.Close() == nil
}

// oldFiles reports files from interrupted writes.
func oldFiles(e Env) []Check {
	var old []string
	add := func(dir string, is func(name string) bool) {
		list, _ := os.ReadDir(dir) // checkHome reports unreadable folders
		for _, x := range list {
			fi, err := x.Info()
			if err == nil && fi.Mode().IsRegular() && is(x.Name()) && e.Now.Sub(fi.ModTime()) > oldFile {
				old = append(old, filepath.Join(dir, x.Name()))
			}
		}
	}
	add(e.Paths.Home, temporary.MatchString)
	if e.Paths.Data != e.Paths.Home {
		add(e.Paths.Data, temporary.MatchString)
	}
	if _, err := os.Stat(e.Paths.Database() + "-replaced"); errors.Is(err, fs.ErrNotExist) { // otherwise the next start needs the file
		add(e.Paths.Data, func(name string) bool { return name == filepath.Base(e.Paths.Database())+".restored" })
	}
	add(e.Paths.Backups(), func(name string) bool {
		return strings.HasPrefix(name, "hob-") && strings.HasSuffix(name, ".db.part")
	})
	if len(old) == 0 {
		return nil
	}
	return withFix(removeFilesFix(old), warnCheck("leftovers", textnorm.CountNoun(len(old), "file of an interrupted write", "files of interrupted writes")+": "+strings.Join(old[:min(len(old), 4)], ", "), fixRemedy))
}

// removeFilesFix returns a fix that removes unneeded files.
func removeFilesFix(paths []string) Fix {
	return func(context.Context) (string, error) {
		for _, path := range paths {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
		}
		return "removed " + strings.Join(paths, ", "), nil
	}
}

// longLog reports a write-ahead log that has not been merged for a long time.
func longLog(e Env) []Check {
	n := fileSize(e.Paths.Database() + "-wal")
	if n < bigLog {
		return nil
	}
	return withFix(func(ctx context.Context) (string, error) {
		return "merged the write-ahead log into the database", store.Checkpoint(ctx, e.Paths.Database())
	}, warnCheck("leftovers", fmt.Sprintf("the write-ahead log contains %d MB that are not in the database yet", n>>20), fixRemedy))
}

// failedUpgrade reports an upgrade that the next starts do not repeat immediately.
func failedUpgrade(e Env) []Check {
	f, found := upgrade.LastFailure(e.Paths)
	if !found {
		return nil
	}
	text, remedy := f.Describe()
	return withFix(func(context.Context) (string, error) {
		return "the next start repeats the upgrade", upgrade.ForgetFailure(e.Paths)
	}, warnCheck("leftovers", f.At.Local().Format("2006-01-02 15:04: ")+text, remedy))
}

// Maximum age of the newest backup, and of a database without a backup.
const (
	oldBackup = 30 * 24 * time.Hour
	oldEnough = 7 * 24 * time.Hour
)

// onServer is the finding about backups when the data is not in a file. A file from before may still be there.
const onServer = "the data is in PostgreSQL; make backups with its tools"

// checkBackup checks the age of the newest backup of the database.
func checkBackup(ctx context.Context, e Env) []Check {
	const make1 = "make one, and copy it to another disk: hob backup"
	if e.Config.Store.URL != "" {
		return okCheck("backup", onServer)
	}
	born, err := store.CreatedAt(ctx, e.Paths.Database())
	if errors.Is(err, fs.ErrNotExist) {
		return okCheck("backup", "no data to back up yet")
	}
	copies, lerr := snapshot.List(e.Paths.Backups())
	if lerr != nil {
		return skipCheck("backup", lerr.Error(), "")
	}
	copies = slices.DeleteFunc(copies, func(s snapshot.Snapshot) bool {
		fi, err := os.Stat(s.Database())
		return err != nil || fi.Size() == 0
	})
	var last time.Time
	if len(copies) > 0 { // the newest first
		last = copies[0].Manifest.Created
	}
	age := e.Now.Sub(last)
	switch {
	case last.IsZero() && err != nil:
		return skipCheck("backup", "no backup of the database, and its age is unknown: "+err.Error(), make1)
	case last.IsZero() && e.Now.Sub(born) > oldEnough:
		return warnCheck("backup", "no backup of the database, which is "+formatDays(e.Now.Sub(born))+" old", make1)
	case last.IsZero():
		return okCheck("backup", "no backup of the database yet (make one with hob backup)")
	case age > oldBackup:
		return warnCheck("backup", "the newest backup of the database is "+formatDays(age)+" old", make1)
	}
	return okCheck("backup", fmt.Sprintf("the newest of %s is from %s", textnorm.CountNoun(len(copies), "copy", "copies"), last.Local().Format("2006-01-02 15:04")))
}

func formatDays(d time.Duration) string {
	return textnorm.CountNoun(int(d/(24*time.Hour)), "day", "days")
}
