// Package denypaths lists the places that Hob's tools never read or write, even inside a folder
// that the user allowed: keys and passwords, browser profiles, files that start programs
// automatically, process internals, devices, and Hob's own home. The file tools, commands and the
// sandbox use the same list (places.go). The package compares only names; callers must resolve
// links first.
package denypaths

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Options are the options of New. All paths are absolute.
type Options struct {
	Home string   // the owner's home
	Own  []string // Hob's own folders
	// Allowed are the folders that the user allows Hob to use. If one of them is inside a protected
	// place of the system, such as /root for the user root, that place is not protected as a whole:
	// only the protected names below it are.
	Allowed []string
	// Readable are folders in Own that are not protected as such, such as the folder of the skills.
	// The caller must prevent changes to them.
	Readable []string
}

// Place is a protected path, including everything below it.
type Place struct {
	Path  string
	Why   string
	parts []string
}

// Places is the deny list for one user. It may be used concurrently.
type Places struct {
	opt  Options
	list func() []Place
}

// New returns the list. The list is built on first use, because that resolves links.
func New(opt Options) *Places {
	p := &Places{opt: opt}
	p.list = sync.OnceValue(p.resolvedPlaces)
	return p
}

// List returns the absolute protected paths, both as configured and with their links resolved.
func (p *Places) List() []Place { return slices.Clone(p.list()) }

// ProtectionReason returns the reason why the absolute path abs is protected, or "" if it is not.
// The caller must resolve links first. Names are compared without case, because ".SSH" opens ".ssh"
// on many systems.
func (p *Places) ProtectionReason(abs string) string {
	parts := Split(abs)
	for _, place := range p.list() {
		if startsFold(parts, place.parts) && (place.Why != own || !p.isReadable(parts)) {
			return place.Why
		}
	}
	for i := range parts {
		for _, names := range namesProtectedAnywhere() {
			if startsFold(parts[i:], names) {
				return either
			}
		}
		for _, names := range ofWindows() {
			if i <= 1 && startsFold(parts[i:], names) {
				return machine
			}
		}
	}
	return specialFileKind(parts)
}

// ProtectedInside returns a protected path that exists inside the folder abs, or "" if there is
// none.
func (p *Places) ProtectedInside(abs string) string {
	parts := Split(abs)
	for _, place := range p.list() {
		if !startsFold(place.parts, parts) {
			continue
		}
		if _, err := os.Lstat(place.Path); err == nil {
			return place.Path
		}
	}
	return ""
}

// ofProcess returns the names of the files in a folder /proc/PID that contain no private data.
func ofProcess() []string {
	return []string{"stat", "status", "statm", "comm", "limits", "cgroup", "mounts", "mountinfo", "io", "uptime", "sched", "oom_score"}
}

// harmlessDevices returns the names below /dev that are safe to open: devices without effects, the
// process's own streams, and the folder for shared memory.
func harmlessDevices() []string {
	return []string{"null", "zero", "full", "random", "urandom", "stdin", "stdout", "stderr", "fd", "shm"}
}

// specialFileKind returns the reason why a path is not an ordinary file: process internals or a
// device.
func specialFileKind(parts []string) string {
	if len(parts) > 0 && parts[0] == "" {
		parts = parts[1:]
	}
	if len(parts) < 2 {
		return ""
	}
	switch parts[0] {
	case "dev":
		if !slices.Contains(harmlessDevices(), parts[1]) {
			return isDevice
		}
	case "proc":
		if parts[1] == "kcore" || parts[1] == "kmem" || parts[1] == "sysrq-trigger" || parts[1] == "kallsyms" || parts[1] == "keys" {
			return machine
		}
		if ofAProcess(parts[1]) && len(parts) > 2 && (len(parts) > 3 || !slices.Contains(ofProcess(), parts[2])) {
			return process
		}
	}
	return ""
}

// ofAProcess reports whether name is a process ID, "self" or "thread-self", or a pattern that may
// match one.
func ofAProcess(name string) bool {
	return strings.ContainsAny(name, "*?[") || name == "self" || name == "thread-self" || name != "" && strings.Trim(name, "0123456789") == ""
}

// resolvedPlaces returns the places with their configured and their resolved paths.
func (p *Places) resolvedPlaces() []Place {
	var out []Place
	add := func(path, why string) {
		out = append(out, Place{Path: path, Why: why, parts: Split(path)})
	}
	homes := pathSpellings(p.opt.Home)
	for _, g := range atHome() {
		for _, rel := range g.places {
			for _, h := range homes {
				add(filepath.Join(h, filepath.FromSlash(rel)), g.why)
			}
		}
	}
	if runtime.GOOS != "windows" {
		for _, g := range ofMachine() {
			for _, path := range g.places {
				if !p.isOpened(path) {
					add(path, g.why)
				}
			}
		}
	}
	for _, dir := range p.opt.Own {
		if dir == "" {
			continue
		}
		for _, n := range pathSpellings(dir) {
			add(n, own)
		}
	}
	return out
}

// isReadable reports whether one of Hob's paths is in a folder that may be read.
func (p *Places) isReadable(parts []string) bool {
	for _, dir := range p.opt.Readable {
		for _, n := range pathSpellings(dir) {
			if prefix := Split(n); len(parts) > len(prefix) && startsFold(parts, prefix) {
				return true
			}
		}
	}
	return false
}

// isOpened reports whether place contains the user's home or a folder that the user allowed.
func (p *Places) isOpened(place string) bool {
	parts := Split(place)
	for _, a := range append(slices.Clone(p.opt.Allowed), p.opt.Home) {
		for _, n := range pathSpellings(a) {
			if startsFold(Split(n), parts) {
				return true
			}
		}
	}
	return false
}

// pathSpellings returns a path as written and with its links resolved.
func pathSpellings(path string) []string {
	if path == "" {
		return nil
	}
	out := []string{filepath.Clean(path)}
	if real, err := filepath.EvalSymlinks(path); err == nil && real != out[0] {
		out = append(out, real)
	}
	return out
}

// Split returns the elements of a path. The first element of an absolute path is its
// volume or "".
func Split(path string) []string {
	if path == "." || path == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(filepath.ToSlash(path), "/"), "/")
}

// startsFold reports whether parts begin with prefix, ignoring case.
func startsFold(parts, prefix []string) bool {
	if len(parts) < len(prefix) {
		return false
	}
	for i := range prefix {
		if !strings.EqualFold(parts[i], prefix[i]) {
			return false
		}
	}
	return true
}
