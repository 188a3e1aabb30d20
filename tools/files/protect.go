package files

import (
	"io/fs"
	"os"
	"strings"

	"hob/platform/host/denypaths"
	"hob/tools"
)

// checkProtected refuses protected paths. abs must have its links resolved.
func (f *Files) checkProtected(abs string, label any) error {
	if why := f.places.ProtectionReason(abs); why != "" {
		return protectedPathError(label, why)
	}
	return nil
}

// guardedRepository refuses changes inside the .git folder of a repository.
func (s *openPath) guardedRepository() error {
	for _, c := range denypaths.Split(s.abs) {
		if strings.EqualFold(c, ".git") {
			return protectedPathError(s.errorLabel(), "it is inside the .git folder of a repository")
		}
	}
	return nil
}

// holdsProtected refuses to move a folder that contains a protected place.
func (s *openPath) holdsProtected() error {
	if place := s.f.places.ProtectedInside(s.abs); place != "" {
		return protectedPathError(s.errorLabel(), s.f.displayPath(place)+" is in it")
	}
	return s.guardedRepository()
}

// oneName refuses a file with several names (hard links): another name may be in a
// protected folder or would change with this one.
func oneName(dir *os.Root, name string, label any, info fs.FileInfo, remedy string) error {
	n, err := linkCount(dir, name, info)
	if err != nil {
		return err
	}
	if n > 1 {
		e := tools.Errorf(tools.Unsupported, "%s has other names (hard links), which may be in a protected folder", label)
		e.Err, e.Remedy = ErrLinked, remedy
		return e
	}
	return nil
}
