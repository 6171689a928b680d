package fourthclient

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

var last = regexp.MustCompile(`(?m)^([0-9]+) passed, 0 failed\n\z`)

func TestFourthClient(t *testing.T) {
	ruby := testkit.Program(t, "ruby")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, ruby, "testdata/play.rb", "../../../clients/conformance").CombinedOutput() //nolint:gosec // the program is Ruby
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	m := last.FindSubmatch(out)
	if m == nil {
		t.Fatalf("the run has no end:\n%s", out)
	}
	if n, err := strconv.Atoi(string(m[1])); err != nil || n < 60 {
		t.Error(fmt.Errorf("only %s vectors and sessions were played: %w", m[1], err))
	}
}
