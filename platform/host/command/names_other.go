//go:build !unix

package command

import "io/fs"

func manyNames(fs.FileInfo) bool { return false }

func ofSystem(fs.FileInfo) bool { return false }

func idOf(info fs.FileInfo) fileID {
	return fileID{size: info.Size(), changed: info.ModTime().UnixNano()}
}
