package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/tidemark/tidemark/internal/test/testkit/servers"
)

// build writes the site into a folder, which it replaces. root is the folder of the repository. It
// fails for a link that leads nowhere and for a page without a place in the order.
func build(ctx context.Context, root, to string) error {
	python, err := servers.SitePython(ctx)
	if err != nil {
		return err
	}
	to, err = filepath.Abs(to)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, python, "-B", "-m", "mkdocs", "build", "--quiet", "--strict", "--clean", "--config-file", filepath.Join(root, "internal", "test", "site", "mkdocs.yml"), "--site-dir", to) //nolint:gosec // the program is the generator
	cmd.Env = append(cmd.Environ(), "NO_MKDOCS_2_WARNING=1", "DISABLE_MKDOCS_2_WARNING=true")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the generator of the site: %w\n%s", err, out)
	}
	return nil
}
