package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"hob/platform/failpoint"
	"hob/platform/host/system"
	"hob/platform/net/safehttp"
)

// The limits of a download in bytes and time.
const (
	maxArchive   = 200 << 20
	maxProgram   = 400 << 20
	downloadTime = 30 * time.Minute
	versionTime  = 30 * time.Second
)

// Reasons why Hob does not replace its program.
var (
	// ErrManaged means that a package manager or the system replaces the program.
	ErrManaged = errors.New("this program is managed by a package manager")
	// ErrDownload means that the downloaded file is not the one in the signed manifest.
	ErrDownload = errors.New("the download is not the file in the signed manifest")
	// ErrNoPrevious means that there is no previous program to return to.
	ErrNoPrevious = errors.New("there is no previous version")
)

// Program is the installed program file.
type Program struct {
	Path string // path without symbolic links
	Kind Kind
}

// Installed returns the running program.
func Installed() (Program, error) {
	exe, err := os.Executable()
	if err != nil {
		return Program{}, fmt.Errorf("locate the hob program: %w", err)
	}
	if real, err := filepath.EvalSymlinks(exe); err == nil {
		exe = real
	}
	return Program{exe, KindOf(runtime.GOOS, exe, Exists)}, nil
}

// Previous returns the path where Swap keeps the replaced program.
func (p Program) Previous() string { return p.siblingPath(".previous") }

// siblingPath returns the path of the program with mark added to its name, before ".exe" on
// Windows.
func (p Program) siblingPath(mark string) string {
	base, ext := p.Path, ""
	if strings.EqualFold(filepath.Ext(base), ".exe") {
		base, ext = base[:len(base)-len(".exe")], ".exe"
	}
	return base + mark + ext
}

// CheckReplaceable returns an error if Hob cannot replace the program. The error wraps ErrManaged
// if a package manager or the system installed it.
func (p Program) CheckReplaceable() error {
	if p.Kind != Archive {
		return fmt.Errorf("%w (%s)", ErrManaged, p.Kind)
	}
	dir := filepath.Dir(p.Path)
	f, err := os.CreateTemp(dir, ".hob-write-test-*")
	if err != nil {
		return fmt.Errorf("the folder %s is not writable: %w; run the command as the user who installed Hob, or install it in a folder that you own, such as ~/.local/bin", dir, errors.Unwrap(err))
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Download fetches a file of the manifest, unpacks the program from it and stores it next to the
// current one. It verifies the size and the checksum before it unpacks the file, and then checks
// that the program runs and reports the expected version.
func (p Program) Download(ctx context.Context, n Fetcher, f File, version string) (staged string, err error) {
	if f.Size > maxArchive {
		return "", fmt.Errorf("download %s: the file is %d MB, the limit is %d MB", f.URL, f.Size>>20, maxArchive>>20)
	}
	if free, err := system.DiskFree(filepath.Dir(p.Path)); err == nil && free < uint64(4*f.Size+(64<<20)) { //nolint:gosec // a positive size
		return "", fmt.Errorf("download %s: not enough disk space in %s (%d MB free); free some space", f.URL, filepath.Dir(p.Path), free>>20)
	}
	res, err := n.Fetch(ctx, safehttp.Request{URL: f.URL, MaxBody: f.Size + 1, Timeout: downloadTime})
	if err != nil {
		return "", fmt.Errorf("download %s: %w", f.URL, err)
	}
	if res.Status != 200 {
		return "", fmt.Errorf("download %s: the server returned status %d", f.URL, res.Status)
	}
	if sum := sha256.Sum256(res.Body); int64(len(res.Body)) != f.Size || !strings.EqualFold(hex.EncodeToString(sum[:]), f.SHA256) {
		return "", fmt.Errorf("%w: %s has the wrong size or checksum", ErrDownload, f.URL)
	}
	b, err := unpackProgram(f.URL, res.Body)
	if err != nil {
		return "", fmt.Errorf("unpack %s: %w", f.URL, err)
	}
	staged = p.siblingPath(".new")
	removeInterrupted(staged)
	if err := writeProgram(staged, bytes.NewReader(b)); err != nil {
		return "", err
	}
	failpoint.Hit("update.staged")
	got, err := Describe(ctx, staged)
	if err == nil && got.Version != version {
		err = fmt.Errorf("the downloaded program is version %q, but the manifest names %s", terminalSafe(got.Version, 50), version)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(staged))
	}
	return staged, nil
}

// unpackProgram returns the program from a .tar.gz or .zip file.
func unpackProgram(name string, archive []byte) ([]byte, error) {
	want := func(entry string) bool { b := path.Base(entry); return b == "hob" || b == "hob.exe" }
	if strings.HasSuffix(name, ".zip") {
		z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
		if err != nil {
			return nil, err
		}
		for _, f := range z.File {
			if want(f.Name) && f.Mode().IsRegular() {
				r, err := f.Open()
				if err != nil {
					return nil, err
				}
				defer r.Close()
				return readLimited(r)
			}
		}
		return nil, errors.New("the archive does not contain the program hob")
	}
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the archive does not contain the program hob")
		}
		if err != nil {
			return nil, err
		}
		if want(h.Name) && h.Typeflag == tar.TypeReg {
			return readLimited(t)
		}
	}
}

func readLimited(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxProgram+1))
	if err == nil && len(b) > maxProgram {
		err = fmt.Errorf("the program is larger than %d MB", maxProgram>>20)
	}
	return b, err
}

// removeInterrupted removes the temporary files of downloads that were interrupted while they wrote
// the program at path. It keeps files younger than an hour, which may belong to a running update.
func removeInterrupted(path string) {
	dir, base := filepath.Split(path)
	list, _ := os.ReadDir(dir) // the next step reports an unreadable folder
	for _, e := range list {
		if fi, err := e.Info(); err == nil && fi.Mode().IsRegular() && strings.HasPrefix(e.Name(), "."+base+".") && time.Since(fi.ModTime()) > time.Hour {
			_ = os.Remove(filepath.Join(dir, e.Name())) // a leftover file does no harm
		}
	}
}

func writeProgram(to string, r io.Reader) error {
	if err := system.WriteFrom(to, r); err != nil {
		return err
	}
	return os.Chmod(to, 0o755) //nolint:gosec // other users may run the program, as before
}

// Description is what a program reports about itself with "version --json".
type Description struct {
	Version string         `json:"version"`
	Schema  map[string]int `json:"schema"` // the database schema that it supports; nil for old versions
}

// Describe runs a Hob program to get its version and database schema.
func Describe(ctx context.Context, program string) (d Description, err error) {
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, "version", "--json").Output() //nolint:gosec // the verified download, or the previous program
	if err != nil {
		return d, fmt.Errorf("%s does not run: %w", filepath.Base(program), err)
	}
	if err := json.Unmarshal(out, &d); err != nil {
		return d, fmt.Errorf("%s does not report its version: %w", filepath.Base(program), err)
	}
	return d, nil
}

// Swap replaces the program with the file at from, in the same folder, and keeps the replaced one
// at Previous. from may be Previous itself: then the two programs change places. Except on Windows,
// the program exists at every moment. On Windows, where a running program cannot be replaced, Swap
// renames both files, and undoes the first rename if the second one fails.
func (p Program) Swap(from string) error {
	if err := p.finishSwap(); err != nil {
		return err
	}
	keep := p.siblingPath(".old")
	if !system.CanReplaceRunning() {
		if err := swapByRename(p.Path, from, keep); err != nil {
			return fmt.Errorf("replace %s: %w; Hob is unchanged", p.Path, err)
		}
	} else {
		if err := linkOrCopy(p.Path, keep); err != nil {
			return fmt.Errorf("replace %s: keep the current program: %w", p.Path, err)
		}
		failpoint.Hit("update.kept")
		if err := system.RenameDurable(from, p.Path); err != nil {
			return fmt.Errorf("replace %s: %w; Hob is unchanged", p.Path, err)
		}
	}
	failpoint.Hit("update.replaced")
	if err := p.keepPrevious(keep); err != nil {
		return fmt.Errorf("replaced %s, but the previous program is still at %s: %w", p.Path, keep, err)
	}
	failpoint.Hit("update.done")
	return nil
}

// swapByRename renames the running program to keep, and the new program to the name of the running
// one.
func swapByRename(program, from, keep string) error {
	if err := system.Rename(program, keep); err != nil {
		return err
	}
	failpoint.Hit("update.kept")
	if err := system.Rename(from, program); err != nil {
		return errors.Join(err, system.Rename(keep, program))
	}
	return nil
}

// keepPrevious moves the replaced program from keep to Previous. Windows cannot replace a previous
// program that still runs, for example as the MCP server of another application, but it can
// rename that program. The next Download deletes it.
func (p Program) keepPrevious(keep string) error {
	err := system.RenameDurable(keep, p.Previous())
	if err == nil {
		return nil
	}
	staged := p.siblingPath(".new")
	aside := filepath.Join(filepath.Dir(staged), "."+filepath.Base(staged)+"."+strconv.FormatInt(time.Now().UnixNano(), 36))
	if system.Rename(p.Previous(), aside) != nil {
		return err
	}
	return system.RenameDurable(keep, p.Previous())
}

// linkOrCopy creates a hard link to a file, or copies the file if the file system does not support
// links.
func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	return writeProgram(to, f)
}

// CheckPrevious returns what the previous program reports. The error is ErrNoPrevious if there is none.
func (p Program) CheckPrevious(ctx context.Context) (Description, error) {
	if err := p.finishSwap(); err != nil {
		return Description{}, err
	}
	if !Exists(p.Previous()) {
		return Description{}, fmt.Errorf("%w beside %s", ErrNoPrevious, p.Path)
	}
	return Describe(ctx, p.Previous())
}

// finishSwap finishes a Swap that a crash interrupted: it moves the replaced program to Previous,
// or removes the hard link to the program, or its copy, if it was not replaced yet. After a crash
// between the two renames on Windows, it restores the program.
func (p Program) finishSwap() error {
	old := p.siblingPath(".old")
	kept, err := os.Stat(old)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	current, cerr := os.Stat(p.Path)
	switch {
	case err == nil && errors.Is(cerr, os.ErrNotExist):
		err = system.RenameDurable(old, p.Path)
	case err != nil || cerr != nil:
		err = errors.Join(err, cerr)
	case !kept.Mode().IsRegular(): // never the replaced program
		return fmt.Errorf("finish an interrupted update: %s is not a file; move it elsewhere", old)
	case os.SameFile(kept, current) || kept.Size() == current.Size() && equalContents(old, p.Path):
		err = os.Remove(old)
	default:
		err = p.keepPrevious(old)
	}
	if err != nil {
		return fmt.Errorf("finish an interrupted update: %w; stop the programs that use %s", err, old)
	}
	return nil
}

// equalContents reports whether two files can be read and have the same contents.
func equalContents(a, b string) bool {
	one, err := os.ReadFile(a)
	if err != nil {
		return false
	}
	two, err := os.ReadFile(b)
	return err == nil && bytes.Equal(one, two)
}
