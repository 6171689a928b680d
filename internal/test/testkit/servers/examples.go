package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ExampleJars returns the folder with the jars and the protoc of tools/examples/pom.xml, which
// Maven fetches when they are missing from the user's cache folder.
func ExampleJars(ctx context.Context) (string, error) {
	cache, root, err := exampleFolders()
	if err != nil {
		return "", err
	}
	dir, err := fetchLibs(ctx, filepath.Join(root, "pom.xml"), filepath.Join(cache, "examples-java"))
	if err != nil {
		return "", err
	}
	programs, err := filepath.Glob(filepath.Join(dir, "*.exe"))
	for _, p := range programs { // Maven copies them as data
		err = errors.Join(err, os.Chmod(p, 0o755))
	}
	return dir, err
}

// ExamplePython returns the Python of a virtual environment with the packages of
// tools/examples/requirements.txt. When it is missing from the user's cache folder, venv and pip
// make it, once for all test binaries.
func ExamplePython(ctx context.Context) (string, error) {
	return examplePython(ctx, "examples-python-", "requirements.txt")
}

// ClientPython is ExamplePython with what the Python client and its tests need,
// tools/examples/client-requirements.txt.
func ClientPython(ctx context.Context) (string, error) {
	return examplePython(ctx, "client-python-", "client-requirements.txt")
}

// SitePython is ExamplePython with the generator of the site, tools/examples/site-requirements.txt.
func SitePython(ctx context.Context) (string, error) {
	return examplePython(ctx, "site-python-", "site-requirements.txt")
}

// examplePython returns the Python of an environment with the packages of a list in tools/examples.
func examplePython(ctx context.Context, name, list string) (string, error) {
	cache, root, err := exampleFolders()
	if err != nil {
		return "", err
	}
	return pythonWith(ctx, cache, name, filepath.Join(root, list))
}

// exampleFolders returns the cache folder, and that of the lists.
func exampleFolders() (cache, lists string, err error) {
	if cache, err = os.UserCacheDir(); err != nil {
		return "", "", fmt.Errorf("no folder for what the examples need: %w", err)
	}
	root, err := moduleRoot()
	if err != nil {
		return "", "", err
	}
	return filepath.Join(cache, "tidemark"), filepath.Join(root, "tools", "examples"), nil
}
