package hooks

import "os"

// checkOwned checks nothing on Windows: the access lists of files are not read. The pinned digest
// detects a program that another account changed.
func checkOwned(string) error { return nil }

// fileStamp returns "", so that the digest is computed at each run.
func fileStamp(*os.File) string { return "" }
