package transcript

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// built builds the command for all tests of a package.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "transcript")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "tidemark")
	build := exec.Command("go", "build", "-o", file, "github.com/tidemark/tidemark/cmd/tidemark")
	if out, err := build.CombinedOutput(); err != nil {
		return file, fmt.Errorf("%w\n%s", err, out)
	}
	return file, nil
})

// wanted reports whether a test has used the command.
var wanted atomic.Bool

// Command returns the path of the command, which it builds at the first call.
func Command(t testing.TB) string {
	t.Helper()
	testkit.Program(t, "go")
	wanted.Store(true)
	file, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// Main runs the tests of a package, removes the command, and ends the process.
func Main(m *testing.M) {
	code := m.Run()
	if wanted.Load() {
		if file, err := built(); err == nil {
			_ = os.RemoveAll(filepath.Dir(file))
		}
	}
	os.Exit(code)
}
