// Package assets embeds the files of the chat page. It does not depend on the
// server.
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
	if err != nil { // cannot happen: the path is constant and valid
		panic(err)
	}
	return sub
}
