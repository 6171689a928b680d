// Package js holds Tidemark's JavaScript client (src), as it is served to browsers: plain modules,
// no build step. Its own documentation is docs/clients.md; its tests are in test, run by Node, and
// in app/ui, run by a browser.
package js

import (
	"embed"
	"io/fs"
)

//go:embed src/*.js src/*.d.ts
var files embed.FS

// Files are the client's modules; index.js is the one to import.
func Files() fs.FS {
	sub, err := fs.Sub(files, "src")
	if err != nil {
		panic(err) // src is embedded: the path is a constant
	}
	return sub
}
