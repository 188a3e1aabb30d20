package command

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// pathTarget is the resolved path of a word.
type pathTarget struct {
	abs       string // absolute path with links resolved as the kernel does
	exists    bool
	folder    bool
	regular   bool
	many      bool   // the file has more than one hard link
	inside    bool   // the path is inside an allowed folder
	protected string // reason why the path is protected, or ""
}

// maxLinks limits the links in one path.
const maxLinks = 40

// resolvePlace resolves a path relative to dir. It never fails: a path that it cannot read counts
// as outside every allowed folder.
func (j *Analyzer) resolvePlace(dir, path string) pathTarget {
	if !filepath.IsAbs(path) {
		path = dir + "/" + path
	}
	if path == "/dev/stdin" || path == "/dev/stdout" || path == "/dev/stderr" {
		return pathTarget{abs: path, exists: true} // the path refers to the process that runs the command, not to this process
	}
	lexical := filepath.Clean(path)
	p := pathTarget{abs: lexical}
	if why := j.opt.Places.ProtectionReason(lexical); why != "" {
		p.protected = why
	}
	abs, ok := physicalPath(path)
	if !ok {
		return p
	}
	p.abs = abs
	if why := j.opt.Places.ProtectionReason(abs); why != "" {
		p.protected = why
	}
	info, err := os.Lstat(abs)
	p.exists = err == nil
	if err == nil {
		p.folder, p.regular, p.many = info.IsDir(), info.Mode().IsRegular(), manyNames(info)
	}
	for _, a := range j.allowed {
		if real, ok := physicalPath(a); ok && isBelow(real, abs) {
			p.inside = true
		}
	}
	return p
}

func isBelow(folder, abs string) bool {
	return abs == folder || strings.HasPrefix(abs, strings.TrimSuffix(folder, "/")+"/")
}

// physicalPath resolves a path element by element. Unlike in filepath.Clean, ".." after a link
// means the parent of the link's target. Missing elements are kept as written.
func physicalPath(path string) (string, bool) {
	if len(path) > 4096 || strings.ContainsRune(path, 0) {
		return "", false
	}
	todo := strings.Split(path, "/")
	done := "/"
	for links := 0; len(todo) > 0; {
		c := todo[0]
		todo = todo[1:]
		switch c {
		case "", ".":
			continue
		case "..":
			done = filepath.Dir(done)
			continue
		}
		next := filepath.Join(done, c)
		info, err := os.Lstat(next)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", false
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", false
		}
		if filepath.IsAbs(target) {
			done = "/"
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	return done, true
}

// openToAll reports whether listed commands may read a file outside the user's folders. Such files
// describe the machine.
func openToAll(abs string) bool {
	switch abs {
	case "/dev/null", "/dev/stdin", "/etc/os-release", "/usr/lib/os-release", "/etc/hostname", "/etc/timezone", "/proc/cpuinfo", "/proc/meminfo",
		"/proc/uptime", "/proc/loadavg", "/proc/version":
		return true
	}
	return false
}
