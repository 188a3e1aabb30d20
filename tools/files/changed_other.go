//go:build !linux && !darwin

package files

import (
	"io/fs"
	"time"
)

func changeTime(info fs.FileInfo) time.Time { return info.ModTime() }
