package apps

import (
	"os"
	"path/filepath"
	"strings"
)

// listBundles lists the applications of a folder on macOS. It uses the names on disk, which differ
// from the displayed names only if those are translated.
func listBundles(dir string) (out []App) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range list[:min(len(list), 2000)] {
		name, ok := strings.CutSuffix(e.Name(), ".app")
		if !ok || name == "" {
			continue
		}
		out = append(out, App{
			ID: name, Name: name, File: filepath.Join(dir, e.Name()),
			Shared: strings.HasPrefix(dir, "/System/") || strings.HasPrefix(dir, "/Applications"),
			words:  []string{strings.ToLower(name)},
			Opens:  Addresses, // open(1) reports unsupported items
		})
	}
	return out
}
