//go:build !unix

package command

import "os"

// openPlain opens a file or a folder. No command is listed on this system, so it only opens approved
// redirections.
func openPlain(path string, _ bool) (*os.File, error) { return os.Open(path) }
