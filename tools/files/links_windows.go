package files

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

const openFlags = 0

// linkCount returns the number of hard links of a file.
func linkCount(dir *os.Root, name string, _ fs.FileInfo) (uint64, error) {
	f, err := dir.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &info); err != nil {
		return 0, err
	}
	return uint64(info.NumberOfLinks), nil
}
