//go:build !unix && !windows

package files

import (
	"io/fs"
	"os"
)

const openFlags = 0

func links(*os.Root, string, fs.FileInfo) (uint64, error) { return 1, nil }
