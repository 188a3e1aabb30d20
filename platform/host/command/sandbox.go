package command

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// sandbox is the confinement of commands on this machine.
type sandbox struct {
	kind    string // "bubblewrap", "landlock" or "seatbelt"; "" if there is none
	path    string // program of the sandbox
	missing string // why there is no sandbox, or which protection this one does not provide
}

// Kind and Missing return the kind of the sandbox and the protection that it does not provide.
func (s sandbox) Kind() string    { return s.kind }
func (s sandbox) Missing() string { return s.missing }

// lookAgain is how long the detected sandbox is cached.
const lookAgain = 10 * time.Minute

// Sandbox returns the sandbox of this machine. It caches the result for lookAgain.
func (r *Runner) Sandbox(ctx context.Context) sandbox {
	if r.opt.Sandbox == Off {
		return sandbox{missing: "[shell] sandbox = \"off\""}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	again := lookAgain
	if r.found.kind == "" {
		again = 30 * time.Second
	}
	if r.looked.IsZero() || time.Since(r.looked) > again {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		r.found, r.looked = r.opt.Judge.findSandbox(ctx), time.Now()
	}
	return r.found
}

// maskedPlaces returns the existing protected paths, folders and files separately.
func (j *Analyzer) maskedPlaces() (folders, files []string) {
	for _, p := range j.opt.Places.List() {
		info, err := os.Lstat(p.Path)
		switch {
		case err != nil:
		case info.IsDir():
			folders = append(folders, p.Path)
		case info.Mode().IsRegular():
			files = append(files, p.Path)
		}
	}
	return folders, files
}

// readableFolders returns the existing folders of Options.Readable with links resolved.
func (j *Analyzer) readableFolders() (out []string) {
	for _, dir := range j.opt.Readable {
		if real, ok := physicalPath(dir); ok {
			if info, err := os.Lstat(real); err == nil && info.IsDir() {
				out = append(out, real)
			}
		}
	}
	return out
}

// repositoryParts returns the settings and hooks of git repositories around dir, inside the
// allowed folders. They are read-only in the sandbox.
func (j *Analyzer) repositoryParts(dir string) []string {
	var out []string
	for j.resolvePlace("/", dir).inside {
		for _, part := range []string{"config", "hooks", "modules"} {
			path := filepath.Join(dir, ".git", part)
			if info, err := os.Lstat(path); err == nil && (info.IsDir() || info.Mode().IsRegular()) {
				out = append(out, path)
			}
		}
		dir = filepath.Dir(dir)
	}
	return out
}
