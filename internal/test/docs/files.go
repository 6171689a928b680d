package docs

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Root is the path of the repository from the folder of this package.
const Root = "../../.."

// skipped are directories without hand-written files.
var skipped = []string{".git", "bin", "tmp", "node_modules"}

// Files calls fn with the path below root and the text of each file whose name ends in one of the
// suffixes.
func Files(root string, suffixes []string, fn func(path, text string)) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(skipped, d.Name()):
			return fs.SkipDir
		case d.IsDir() || !slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(path, s) }):
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		fn(filepath.ToSlash(rel), string(b))
		return err
	})
}

// Pages returns the documents: README.md, CONTRIBUTING.md, everything below docs, and the README.md
// of each client.
func Pages(root string) (map[string]string, error) {
	pages := map[string]string{}
	err := Files(root, []string{".md"}, func(path, text string) {
		if strings.HasPrefix(path, "docs/") || strings.HasPrefix(path, "clients/") || !strings.Contains(path, "/") {
			pages[path] = text
		}
	})
	return pages, err
}

// All returns the examples of README.md, of the pages below docs, and of each client's README.md,
// in the order of the pages' names.
func All(root string) (blocks []Block, err error) {
	pages, err := Pages(root)
	if err != nil {
		return nil, err
	}
	delete(pages, "CHANGELOG.md")
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		blocks = append(blocks, Blocks(name, pages[name])...)
	}
	return blocks, nil
}
