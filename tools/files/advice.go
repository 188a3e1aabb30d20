package files

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"hob/platform/host/denypaths"
	"hob/platform/provenance"
	"hob/tools"
)

// notAllowed rejects a path outside the allowed folders. The remedy names the folder of the file
// abs. folderNotAllowed is for calls that need the folder abs itself. Neither checks whether abs
// exists, so that the error reveals nothing about other folders.
func (f *Files) notAllowed(abs, why string) error {
	return f.refuseOutside(abs, filepath.Dir(abs), why)
}

func (f *Files) folderNotAllowed(abs string) error { return f.refuseOutside(abs, abs, "") }

func (f *Files) refuseOutside(abs, folder, why string) error {
	if reason := f.protectedReason(abs); reason != "" {
		return protectedPathError(tools.Clean(f.displayPath(abs)), reason)
	}
	msg := f.displayPath(abs) + " is " + ErrNotAllowed.Error()
	if why != "" {
		msg += " (" + why + ")"
	}
	if len(f.allowed) == 0 {
		msg += "; no folder is allowed yet"
	} else {
		shown := make([]string, len(f.allowed))
		for i, a := range f.allowed {
			shown[i] = f.displayPath(a)
		}
		msg += "; allowed: " + strings.Join(shown, ", ")
	}
	remedy := "use a file in an allowed folder, or copy the file to an allowed folder"
	if list := f.allowedWith(folder); list != "" && why == "" {
		remedy = "allow exactly this folder with: hob config set files.allowed '" + list + "'"
	}
	return &tools.Error{Code: tools.PolicyDenied, Message: msg, Err: ErrNotAllowed, Remedy: remedy, Source: provenance.Tool} // abs is the path that was requested
}

// protectedReason returns the reason why abs, or the target of its links, is protected.
func (f *Files) protectedReason(abs string) string {
	if why := f.places.ProtectionReason(abs); why != "" || !filepath.IsAbs(abs) {
		return why
	}
	// the target may not exist, so resolve the longest existing part
	for dir, rest := abs, ""; ; {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return f.places.ProtectionReason(filepath.Join(real, rest))
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		rest = filepath.Join(filepath.Base(dir), rest)
		dir = up
	}
}

// allowedWith returns a JSON list of the allowed folders with folder added, for a command that the
// owner pastes into a shell. It returns "" if folder must not be suggested, because it is wider
// than a call needs, contains a protected location, or has a name that a shell or a reader could
// misinterpret.
func (f *Files) allowedWith(folder string) string {
	if !filepath.IsAbs(folder) || f.tooWide(folder) {
		return ""
	}
	real, err := filepath.EvalSymlinks(folder)
	if err == nil && real != folder && f.tooWide(real) {
		return ""
	}
	var list []string
	for _, a := range f.opt.Allowed {
		list = append(list, f.displayPath(a))
	}
	list = append(list, f.displayPath(folder))
	if slices.ContainsFunc(list, func(p string) bool { return strings.ContainsFunc(p, unsafeInCommand) }) {
		return ""
	}
	for i := range list {
		list[i] = filepath.ToSlash(list[i])
	}
	b, err := json.Marshal(list)
	if err != nil {
		return ""
	}
	return string(b)
}

// tooWide reports whether a folder must not be suggested. This applies to a volume, a top-level
// folder, the home folder or a folder above it, a folder inside a repository, and a folder that is
// or contains a protected location.
func (f *Files) tooWide(folder string) bool {
	parts := denypaths.Split(folder)
	if len(parts) <= 2 { // "" or the volume, followed by one name
		return true
	}
	for _, home := range f.homeFolders() {
		if _, above := relativeTo(folder, home); above {
			return true
		}
	}
	inRepository := slices.ContainsFunc(parts, func(p string) bool { return strings.EqualFold(p, ".git") })
	return inRepository || f.places.ProtectionReason(folder) != "" || f.places.ProtectedInside(folder) != ""
}

// homeFolders returns the configured and the resolved path of the home folder.
func (f *Files) homeFolders() []string {
	out := []string{f.home}
	if real, err := filepath.EvalSymlinks(f.home); err == nil && real != f.home {
		out = append(out, real)
	}
	return out
}

// unsafeInCommand reports whether r must not occur in a path in a suggested command, because shells
// interpret r inside or after quotes, or because r is invisible.
func unsafeInCommand(r rune) bool {
	return strings.ContainsRune("'\"`$%!;&|<>*?\n", r) || (r == '\\' && filepath.Separator != '\\') || r == unicode.ReplacementChar ||
		!unicode.IsPrint(r)
}
