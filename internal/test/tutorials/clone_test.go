package tutorials

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/internal/test/docs"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// session runs the commands of a page until its node is ready, interrupts them as Ctrl-C does, and
// prints what they have printed.
const session = `set -m
{
%[1]s} >commands.log 2>&1 &
until curl -sf http://%[2]s/readyz >/dev/null; do
  kill -0 $! || { cat commands.log; exit 1; }
  sleep 0.2
done
kill -INT -- -$!
wait $! || true
cat commands.log`

// TestClone: the first commands of the pages clone the repository, build it and start a node, each
// in an empty folder. The clone comes from this checkout.
func TestClone(t *testing.T) {
	bash := testkit.Program(t, "bash")
	testkit.Program(t, "git")
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(checkout, ".git")); err != nil {
		t.Skipf("this tree is no checkout: %v", err)
	}
	for page, demo := range map[string]bool{"docs/index.md": true, "docs/start/backend.md": false, "docs/start/frontend.md": true} {
		t.Run(page, func(t *testing.T) {
			text := docs.Of(docs.Blocks(page, read(t, page)), "sh")[0]
			if !strings.HasPrefix(text, "git clone https://github.com/tidemark/tidemark ") {
				t.Fatalf("the page begins with %s", text)
			}
			listen := testkit.FreeAddress(t)
			env := []string{
				"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url." + checkout + ".insteadOf", "GIT_CONFIG_VALUE_0=https://github.com/tidemark/tidemark",
				"TIDEMARK_LISTEN=" + listen, "TIDEMARK_KAFKA_LISTEN=" + testkit.FreeAddress(t), "TIDEMARK_REDIS_LISTEN=" + testkit.FreeAddress(t),
			}
			out := output(t, t.TempDir(), env, bash, "-c", fmt.Sprintf(session, text, listen))
			if !strings.Contains(out, "page, queries, ingest") || strings.Contains(out, "a small company is chatting") != demo {
				t.Errorf("the commands print\n%s", out)
			}
		})
	}
}
