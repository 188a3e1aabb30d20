package file

import "hob/platform/store/erase"

// Eraser removes the files whose path contains a phrase from the reported ones; these files are
// reported again.
func (*Driver) Eraser() erase.Eraser {
	return erase.Owned{List: []erase.Table{{Name: "file_seen", Key: []string{"watcher", "path"}, Names: []string{"path"}}}, Besides: []string{"file_watches"}}
}
