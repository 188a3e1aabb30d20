package files

import (
	"io/fs"
	"os"
	"strings"

	"hob/platform/protect"
	"hob/tools"
)

// guarded refuses protected places. abs has its links resolved.
func (f *Files) guarded(abs string) error {
	if why := f.places.Why(abs); why != "" {
		return f.protected(abs, why)
	}
	return nil
}

// guardedRepository refuses changes to the inside of a repository.
func (f *Files) guardedRepository(abs string) error {
	for _, c := range protect.Split(abs) {
		if strings.EqualFold(c, ".git") {
			return f.protected(abs, "it is the inside of a repository")
		}
	}
	return nil
}

// holdsProtected refuses to move a folder away with a protected place in it.
func (f *Files) holdsProtected(abs string) error {
	if place := f.places.Holds(abs); place != "" {
		return f.protected(abs, f.show(place)+" lies in it")
	}
	return f.guardedRepository(abs)
}

// oneName refuses a file that has other names (hard links): one of them may lie
// in a place that must not be read, or would change with this one.
func (f *Files) oneName(dir *os.Root, name, abs string, info fs.FileInfo, remedy string) error {
	n, err := links(dir, name, info)
	if err != nil {
		return err
	}
	if n > 1 {
		return &tools.Error{
			Code: tools.Unsupported, Err: ErrLinked, Remedy: remedy,
			Message: f.show(abs) + " has other names elsewhere (hard links), which may lie in a protected place",
		}
	}
	return nil
}
