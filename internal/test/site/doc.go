// Command site writes the pages of docs/ as a static site that can be searched: `make docs`. The
// generator is Material for MkDocs, in the version of tools/examples/site-requirements.txt.
//
//	main.go     the command
//	build.go    runs the generator
//	mkdocs.yml  the pages, in their order
//	hooks.py    what makes them pages of a site
package main
