package servers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// NodeModules returns the folder node_modules with the packages of tools/examples/react, which npm
// fetches when they are missing from the user's cache folder, once for all test binaries.
func NodeModules(ctx context.Context) (string, error) {
	cache, root, err := exampleFolders()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	files := map[string][]byte{}
	for _, name := range []string{"package.json", "package-lock.json"} {
		if files[name], err = os.ReadFile(filepath.Join(root, "react", name)); err != nil {
			return "", fmt.Errorf("the list of packages: %w", err)
		}
		sum.Write(files[name])
	}
	npm, err := lookPath("npm", "npm", "npm")
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "examples-node-"+hex.EncodeToString(sum.Sum(nil)[:4]))
	made, done := filepath.Join(dir, "node_modules"), filepath.Join(dir, "complete")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	unlock, err := lockFile(dir + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(done); err == nil {
		return made, nil
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return "", err
		}
	}
	cmd := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("fetch the packages of tools/examples/react with npm: %w\n%s", err, out)
	}
	return made, os.WriteFile(done, nil, 0o644)
}
