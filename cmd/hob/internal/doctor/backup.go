package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"hob/platform/host/system"
	"hob/platform/store"
	"hob/platform/text/textnorm"
)

// How old the newest copy may be, and how old a database without one.
const (
	oldBackup = 30 * 24 * time.Hour
	oldEnough = 7 * 24 * time.Hour
)

// checkBackup checks the age of the newest backup of the database.
func checkBackup(ctx context.Context, e Env) []Check {
	const make1 = "make one, and copy it to another disk: hob backup"
	born, err := store.CreatedAt(ctx, e.Paths.Database())
	if errors.Is(err, fs.ErrNotExist) {
		return okCheck("backup", "no data to back up yet")
	}
	copies, gerr := filepath.Glob(filepath.Join(system.EscapeGlob(e.Paths.Backups()), "hob-*.db"))
	if gerr != nil {
		return skipCheck("backup", gerr.Error(), "")
	}
	var last time.Time
	for _, path := range copies {
		if fi, err := os.Stat(path); err == nil && fi.Size() > 0 && fi.ModTime().After(last) {
			last = fi.ModTime()
		}
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
