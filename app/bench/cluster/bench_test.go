package cluster

import (
	"context"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/traffic"
)

// The bench kills, restores and stops real nodes, on an embedded broker. What it measures depends on
// the machine.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("starts nodes for half a minute, which -short leaves out")
	}
	if runtime.GOOS != "linux" {
		t.Skip("reads the memory of a process, which needs Linux")
	}
	program := filepath.Join(t.TempDir(), "tidemark")
	if out, err := exec.Command("go", "build", "-o", program, "../../../cmd/tidemark").CombinedOutput(); err != nil {
		t.Fatalf("build the command: %v\n%s", err, out)
	}
	k := testkit.FakeKafka(t)
	mix := traffic.Mixes["G"]
	mix.Channels, mix.Users = 400, 800
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute) // before the test ends without killing the nodes
	defer cancel()
	out, err := run(ctx, Env{Brokers: k.ListenAddrs(), Program: program}, size{
		mix: mix, rate: 200, soak: time.Second, settle: 2 * time.Second, kills: 1, flags: []string{"--hot-memory", "1KiB"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range out {
		names = append(names, r.Name)
		for _, g := range r.Goals {
			if g.Got < 0 || g.Got > 1000 {
				t.Errorf("%s: %s", r.Name, g)
			}
		}
	}
	for i, want := range []string{"8000 pairs", "killed 1 times", "without stores", "2 of 4 partitions", "starts again"} {
		if i >= len(names) || !strings.Contains(names[i], want) {
			t.Fatalf("%q, want %q in line %d", names, want, i)
		}
	}
}
