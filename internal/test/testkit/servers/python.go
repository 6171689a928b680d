package servers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// pythonWith returns the Python of an environment in the cache folder with the packages of a list.
// When the environment is missing, venv and pip make it, once for all test binaries. One line on
// stderr announces the download.
func pythonWith(ctx context.Context, cache, name, list string) (string, error) {
	want, err := os.ReadFile(list)
	if err != nil {
		return "", fmt.Errorf("the list of Python packages: %w", err)
	}
	python, err := lookPath("python3", "Python", "python3-venv")
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append(bytes.Clone(want), python...))
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
	fmt.Fprintf(os.Stderr, "fetching the Python packages of %s with pip into %s\n", list, dir)
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
