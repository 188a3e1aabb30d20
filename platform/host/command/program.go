package command

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"hob/platform/host/system"
)

// systemPath returns the folders that are searched for programs. The system's folders come first,
// so that no program in another folder can replace "ls".
func systemPath() []string {
	switch runtime.GOOS {
	case "darwin":
		return []string{"/usr/bin", "/bin", "/usr/sbin", "/sbin", "/opt/homebrew/bin", "/usr/local/bin"}
	case "windows":
		root := os.Getenv("SystemRoot")
		return []string{filepath.Join(root, "System32"), root}
	}
	return []string{"/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin", "/run/current-system/sw/bin", "/snap/bin"}
}

// resolvedProgram is the file of a program.
type resolvedProgram struct {
	name   string // as written
	path   string // absolute path; "" if the program was not found
	system bool   // belongs to the system: only its administrator can change it
}

// findProgram resolves a program name with the pinned PATH. A name with a slash is a file, relative to dir.
func (j *Analyzer) findProgram(dir, name string) resolvedProgram {
	p := resolvedProgram{name: name}
	candidates := make([]string, 0, len(j.opt.Path))
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = dir + "/" + name
		}
		candidates = append(candidates, name)
	} else if name != "" {
		for _, d := range j.opt.Path {
			candidates = append(candidates, filepath.Join(d, name))
		}
	}
	for _, c := range candidates {
		real, ok := physicalPath(c)
		if !ok {
			continue
		}
		info, err := os.Lstat(real)
		if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
			continue
		}
		p.path = filepath.Clean(c)
		if strings.Contains(name, "/") {
			p.path = real
		}
		p.system = ofSystem(info) && j.isTrustedFolder(c) && j.isTrustedFolder(real) && j.onPath(filepath.Dir(p.path))
		return p
	}
	return p
}

// onPath reports whether dir is a folder that contains programs. For example, "/usr/lib/x/ls" is
// not the table's "ls".
func (j *Analyzer) onPath(dir string) bool {
	for _, d := range j.opt.Path {
		if real, ok := physicalPath(d); ok && real == dir || d == dir {
			return true
		}
	}
	return false
}

// isTrustedFolder reports whether a program's folder belongs to the system and is not a folder that
// the user has allowed Hob to use.
func (j *Analyzer) isTrustedFolder(path string) bool {
	if j.resolvePlace("/", path).inside {
		return false
	}
	dir := filepath.Dir(path)
	for _, d := range j.opt.Path {
		real, ok := physicalPath(d)
		if ok && isBelow(real, dir) || isBelow(d, dir) {
			info, err := os.Stat(dir)
			return err == nil && ofSystem(info)
		}
	}
	// a distribution's own links point to its library folders, for example through
	// /etc/alternatives
	for _, d := range []string{"/usr/lib", "/usr/libexec", "/usr/share", "/nix/store", "/gnu/store", "/opt/homebrew/Cellar", "/System", "/Library/Developer/CommandLineTools", "/Applications/Xcode.app"} {
		if isBelow(d, dir) {
			info, err := os.Stat(dir)
			return err == nil && ofSystem(info)
		}
	}
	return false
}

// fileID identifies a version of a file.
type fileID struct {
	dev, ino             uint64
	size, changed, ctime int64
}

const (
	maxDigests = 512
	maxHashed  = 512 << 20 // in bytes
)

var errTooBig = errors.New("file is larger than 512 MB")

// fileDigest returns the SHA-256 of a file.
func (j *Analyzer) fileDigest(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	id := idOf(info)
	j.mu.Lock()
	known, ok := j.digests[id]
	j.mu.Unlock()
	if ok && id.ino != 0 {
		return known, nil
	}
	if info.Size() > maxHashed {
		return "", errTooBig
	}
	sum, err := digestOf(path)
	if err != nil {
		return "", err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.digests) >= maxDigests {
		clear(j.digests)
	}
	j.digests[id] = sum
	return sum, nil
}

// Placeholders for files that have no digest.
const (
	absent     = "absent"
	unreadable = "unreadable"
)

// digestOf returns the SHA-256 of a regular file's current content.
func digestOf(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxHashed {
		return "", errTooBig
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxHashed)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// namesDigest returns the SHA-256 of the names in a folder.
func namesDigest(dir string) (string, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	return digestNames(list), nil
}

func digestNames(list []fs.DirEntry) string {
	h := sha256.New()
	for _, e := range list {
		_, _ = h.Write([]byte(e.Name() + "\x00")) // writing to a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil))
}

// commandEnviron returns the environment of a command: program folders, home, language and time
// zone. It is built from a list of harmless variables, so that no program receives a key, token or
// proxy of Hob.
func (j *Analyzer) commandEnviron(temp string) []string {
	out := []string{
		"PATH=" + strings.Join(j.opt.Path, string(filepath.ListSeparator)), "HOME=" + j.opt.Home, "TERM=dumb", "TMPDIR=" + temp, "XDG_CACHE_HOME=" + filepath.Join(temp, "cache"),
		"PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=false", "EDITOR=false", "NO_COLOR=1", "DEBIAN_FRONTEND=noninteractive", "PYTHONDONTWRITEBYTECODE=1",
		"npm_config_cache=" + filepath.Join(temp, "npm"), "GOTOOLCHAIN=local",
		system.Marker + "=command", // remaining processes of the command get no user permissions
	}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if isEnvAllowed(name) {
			out = append(out, v)
		}
	}
	return out
}

func isEnvAllowed(name string) bool {
	switch name {
	case "LANG", "LANGUAGE", "TZ", "USER", "LOGNAME", "SystemRoot", "SYSTEMROOT", "windir", "COMSPEC", "ComSpec", "PATHEXT", "USERNAME", "USERPROFILE":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}
