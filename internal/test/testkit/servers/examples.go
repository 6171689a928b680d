package servers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
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
	return pythonWith(ctx, "examples-python-", "requirements.txt")
}

// ClientPython is ExamplePython with what the Python client and its tests need,
// tools/examples/client-requirements.txt.
func ClientPython(ctx context.Context) (string, error) {
	return pythonWith(ctx, "client-python-", "client-requirements.txt")
}

// SitePython is ExamplePython with the generator of the site, tools/examples/site-requirements.txt.
func SitePython(ctx context.Context) (string, error) {
	return pythonWith(ctx, "site-python-", "site-requirements.txt")
}

// pythonWith returns the Python of an environment with the packages of a list in tools/examples.
func pythonWith(ctx context.Context, name, of string) (string, error) {
	cache, root, err := exampleFolders()
	if err != nil {
		return "", err
	}
	list := filepath.Join(root, of)
	want, err := os.ReadFile(list)
	if err != nil {
		return "", fmt.Errorf("the list of Python packages: %w", err)
	}
	python, err := lookPath("python3", "Python", "python3-venv")
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append(want, python...))
	dir := filepath.Join(cache, name+hex.EncodeToString(sum[:4]))
	made, done := filepath.Join(dir, "bin", "python3"), filepath.Join(dir, "requirements.txt")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	unlock, err := lockFile(dir + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if have, err := os.ReadFile(done); err == nil && bytes.Equal(have, want) {
		return made, nil
	}
	// An environment cannot be moved, so the copy of the list marks one that is complete.
	for _, step := range [][]string{
		{python, "-m", "venv", "--clear", dir},
		{made, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", list},
	} {
		if out, err := exec.CommandContext(ctx, step[0], step[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("make the Python environment with %q: %w\n%s", step, err, out)
		}
	}
	return made, os.WriteFile(done, want, 0o644)
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
