package servers

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// axeVersion is the version that tools/axe/pom.xml names.
const axeVersion = "4.10.1"

// AxeScript returns axe-core, the script that finds accessibility defects of a page. Maven fetches
// it when it is missing from tidemark/axe-VERSION in the user's cache folder.
func AxeScript(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder for axe-core: %w", err)
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	dir, err := fetchLibs(ctx, filepath.Join(root, "tools", "axe", "pom.xml"), filepath.Join(cache, "tidemark", "axe-"+axeVersion))
	if err != nil {
		return "", err
	}
	jar := filepath.Join(dir, "selenium-"+axeVersion+".jar")
	z, err := zip.OpenReader(jar)
	if err != nil {
		return "", fmt.Errorf("axe-core: %s: %w", jar, err)
	}
	defer func() { _ = z.Close() }() // nothing was written to it
	f, err := z.Open("axe.min.js")
	if err != nil {
		return "", fmt.Errorf("axe-core: %s: %w", jar, err)
	}
	defer func() { _ = f.Close() }()
	script, err := io.ReadAll(f)
	if err != nil {
		return "", fmt.Errorf("axe-core: %s: %w", jar, err)
	}
	return string(script), nil
}
