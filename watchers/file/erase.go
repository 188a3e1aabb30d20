package file

import "hob/platform/erase"

// Eraser takes the files whose path holds a phrase out of those that were told;
// they are told anew.
func (*Driver) Eraser() erase.Eraser {
	return erase.Owned{List: []erase.Table{{Name: "file_seen", Key: []string{"watcher", "path"}, Names: []string{"path"}}}, Besides: []string{"file_watches"}}
}
