package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hob/platform/host/system"
)

// The file modes that Hob sets: private to the user.
const (
	privateFile = 0o600
	privateDir  = 0o700
	userExec    = 0o100 // a script stays executable for the user
	// othersWrite are the permission bits that let other users change a file.
	othersWrite = 0o022
)

// outerFolders returns Hob's folders other than its home and its data folder.
func (e Env) outerFolders() []string {
	p := e.Paths
	return []string{p.Logs, p.Runtime, p.Backups(), p.UndoDir(), p.ConfigUndoDir(), p.Index(), p.Pictures(), p.Browser(), p.PolicyDir(), p.TemplatesDir()}
}

// privateFiles returns the files that only the user may read. The token has a separate check.
func (e Env) privateFiles() []string {
	p := e.Paths
	db := p.Database()
	list := []string{p.ConfigFile(), p.SecretsFile(), p.SecretNames(), p.Identity(), p.AuditKeyFile(), p.AuditAnchorFile(), p.TombstoneFile(), db, db + "-wal", db + "-shm", p.LogFile(), p.EndpointFile()}
	copies, _ := filepath.Glob(filepath.Join(system.EscapeGlob(p.Backups()), "hob-*.db")) // if there is no folder, there are no backups
	return append(list, copies...)
}

// checkFiles checks whether other users can read or change Hob's files. It never changes the target
// of a link.
func checkFiles(_ context.Context, e Env) []Check {
	var out, open []Check
	var shown []string
	for _, path := range e.privateFiles() {
		if path == e.Paths.ConfigFile() && e.isConfigUnreadable() {
			continue // checkConfig reports this error
		}
		c, loose := checkFileMode(path, privateFile)
		out = append(out, c...)
		if loose {
			shown = append(shown, path)
		}
	}
	for _, dir := range e.outerFolders() {
		c, loose := checkFileMode(dir, privateDir)
		out = append(out, c...)
		if loose {
			shown = append(shown, dir)
		}
	}
	if len(shown) > 0 {
		names := shown[:min(len(shown), 4)]
		said := strings.Join(names, ", ")
		if n := len(shown) - len(names); n > 0 {
			said += fmt.Sprintf(" and %d more", n)
		}
		open = withFix(closeAccessFix(shown), warnCheck("files", "other users can read private files: "+said, fixRemedy+", or: chmod go-rwx "+system.QuoteForShell(names...)))
	}
	out = append(out, open...)
	out = append(out, e.checkMissingFolders()...)
	if len(out) == 0 {
		return okCheck("files", "only you can read Hob's files")
	}
	return out
}

// checkFileMode checks one file or folder. loose means that other users can read it, which the
// caller reports with a fix.
func checkFileMode(path string, mode fs.FileMode) (out []Check, loose bool) {
	fi, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false
	case err != nil:
		return skipCheck("files", fmt.Sprintf("check %s: %v", path, withoutPath(err)), "take ownership of its folder and make it readable"), false
	}
	if fi.Mode()&fs.ModeSymlink != 0 {
		return checkLinkTarget("files", path), false
	}
	if !system.IsOwnedByUser(fi) {
		return foreignOwnerCheck("files", path), false
	}
	if mode == privateDir && !fi.IsDir() {
		return failCheck("files", path+" is not a folder", "move the file elsewhere; Hob then creates the folder"), false
	}
	switch perm := fi.Mode().Perm(); {
	case !system.OthersMayRead(fi) && perm&mode&privateFile != privateFile: // the owner lacks permission to read and write the file
		c := failCheck("files", fmt.Sprintf("you do not have permission to read and write %s (mode %04o)", path, perm), fixRemedy+fmt.Sprintf(", or: chmod %o %s", mode, system.QuoteForShell(path)))
		return withFix(closeAccessFix([]string{path}), c), false
	case system.OthersMayRead(fi) && perm&othersWrite != 0:
		c := failCheck("files", fmt.Sprintf("other users can change %s (mode %04o); check that its content is still yours", path, perm), fixRemedy+fmt.Sprintf(", or: chmod %o %s", mode, system.QuoteForShell(path)))
		return withFix(closeAccessFix([]string{path}), c), false
	case system.OthersMayRead(fi):
		return nil, true
	}
	return nil, false
}

// checkLinkTarget checks the target of a link. The target must exist and belong to the user; its
// mode is the user's choice.
func checkLinkTarget(name, path string) []Check {
	to, err := os.Readlink(path)
	if err != nil {
		return skipCheck(name, fmt.Sprintf("read link %s: %v", path, withoutPath(err)), "check it: ls -l "+path)
	}
	fi, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failCheck(name, fmt.Sprintf("%s is a link to %s, which does not exist", path, to), "restore the target (is its disk connected?), or remove the link: rm "+system.QuoteForShell(path))
	case err != nil:
		return failCheck(name, fmt.Sprintf("%s is a link to %s, which is not accessible: %v", path, to, withoutPath(err)), "fix or remove the link: rm "+system.QuoteForShell(path))
	case !system.IsOwnedByUser(fi):
		return failCheck(name, fmt.Sprintf("%s is a link to %s, which belongs to another user", path, to), "remove the link, or take ownership of its target")
	case system.OthersMayRead(fi) && fi.Mode().Perm()&othersWrite != 0:
		return failCheck(name, fmt.Sprintf("%s is a link to %s, which other users can change (mode %04o)", path, to, fi.Mode().Perm()), "run: chmod go-w "+system.QuoteForShell(path))
	}
	return nil
}

func foreignOwnerCheck(name, path string) []Check {
	return failCheck(name, path+" belongs to another user on this machine", "take ownership: sudo chown -R $(id -un) "+system.QuoteForShell(path))
}

// closeAccessFix returns a fix that makes files and folders inaccessible to other users.
func closeAccessFix(paths []string) Fix {
	return func(context.Context) (string, error) {
		for _, path := range paths {
			if err := closeToOthers(path); err != nil {
				return "", err
			}
		}
		return "closed " + strings.Join(paths, ", ") + " to others", nil
	}
}

// closeToOthers sets the private mode, which gives access only to the owner. It works relative to
// the open folder, so that it does not follow a link that was created in the meantime.
func closeToOthers(path string) error {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // nothing was written
	name := filepath.Base(path)
	fi, err := root.Lstat(name)
	switch {
	case err != nil:
		return err
	case fi.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is now a link; skipped", path)
	case fi.IsDir():
		return root.Chmod(name, privateDir)
	}
	return root.Chmod(name, privateFile|fi.Mode().Perm()&userExec)
}

// checkMissingFolders finds missing folders that a feature needs, in a home that Hob has used
// before.
func (e Env) checkMissingFolders() []Check {
	if _, err := os.Stat(e.Paths.Database()); err != nil {
		return nil // the first start creates them
	}
	var gone []string
	for _, dir := range []string{e.Paths.Logs, e.Paths.Runtime} {
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			gone = append(gone, dir)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return withFix(func(context.Context) (string, error) {
		for _, dir := range gone {
			if err := os.MkdirAll(dir, privateDir); err != nil {
				return "", err
			}
		}
		return "made " + strings.Join(gone, ", "), nil
	}, warnCheck("files", "missing: "+strings.Join(gone, ", "), fixRemedy+"; the next start also creates them"))
}

// withoutPath returns err without its operation and path, because the finding already contains
// them.
func withoutPath(err error) error {
	if pe, is := errors.AsType[*fs.PathError](err); is {
		return pe.Err
	}
	return err
}
