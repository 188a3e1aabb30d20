// Package assets holds files that are part of the program: the chat page. It
// knows nothing of who serves them.
package assets

import (
	"embed"
	"io/fs"
)

//go:embed web
var files embed.FS

// Web returns the files of the chat page: index.html, app.js, pastes.js, things.js, health.js,
// channels.js, style.css and icon.svg.
func Web() fs.FS {
	sub, err := fs.Sub(files, "web")
	if err != nil { // only a bad constant can do that
		panic(err)
	}
	return sub
}
