// Package assets embeds the files of the dashboard. It does not depend on the server.
package assets

import (
	"embed"
	"io/fs"
)

//go:embed web
var files embed.FS

// Web returns the files of the dashboard. The folder vendor contains files of others, unchanged.
func Web() fs.FS {
	sub, err := fs.Sub(files, "web")
	if err != nil { // cannot happen: the path is constant and valid
		panic(err)
	}
	return sub
}
