// Package repo contains tests of the repository itself: its layers, its language, its commits, and
// the steps that CONTRIBUTING.md describes.
package repo

import (
	"path"
	"path/filepath"
	"strings"
)

// root is the folder of the module.
const root = "../../../.."

// moduleDir returns the folder of a file, relative to the root: "." for files in the root.
func moduleDir(file string) string {
	return path.Dir(strings.TrimPrefix(filepath.ToSlash(file), root+"/"))
}
