package tutorials

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/docs"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// TestQueryAPI runs the calls of docs/query-api.md: one about a moment of the past, and those of
// grpcurl.
func TestQueryAPI(t *testing.T) {
	url, bash := node(t), testkit.Program(t, "bash")
	publish(t, url, joined("general", "ann", "bob"), posted("general", "m1", ""))
	time.Sleep(5 * time.Millisecond) // records have milliseconds
	moment := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	time.Sleep(5 * time.Millisecond)
	publish(t, url, posted("general", "m2", ""))
	tools, err := filepath.Abs(filepath.Join(root, "tools"))
	if err != nil {
		t.Fatal(err)
	}
	replace := strings.NewReplacer("2026-11-20T10:32:00Z", moment, "http://node:8080", url, "127.0.0.1:8080", strings.TrimPrefix(url, "http://"),
		"grpcurl ", fmt.Sprintf("go tool -modfile=%s grpcurl ", filepath.Join(tools, "grpcurl.mod")))
	var out []string
	for _, text := range docs.Of(docs.Blocks("docs/query-api.md", read(t, "docs/query-api.md")), "sh") {
		out = append(out, output(t, tools, nil, bash, "-ec", replace.Replace(text)))
	}
	if len(out) != 2 {
		t.Fatalf("the page has %d blocks: say here what each of them does", len(out))
	}
	for i, want := range [][]string{{`"unread":1`}, {"tidemark.ingest.v1.IngestService\ntidemark.query.v1.QueryService\n", `"unread": 2`}} {
		for _, text := range want {
			if !strings.Contains(out[i], text) {
				t.Errorf("block %d does not print %q, but\n%s", i, text, out[i])
			}
		}
	}
}
