package deploy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/internal/test/docs"
)

// The chart takes the values that docs/deploy.md shows, and they reach the pods.
func TestChartTakesTheValuesOfTheDocument(t *testing.T) {
	values := docs.Of(docs.Blocks("docs/deploy.md", readFile(t, "docs/deploy.md")), "yaml")
	if len(values) != 1 {
		t.Fatalf("docs/deploy.md has %d examples of values", len(values))
	}
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(values[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	objects, refusal := rendered(t, file)
	if refusal != "" {
		t.Fatalf("the values are refused: %s", refusal)
	}
	for _, want := range []string{
		"kafka-0.kafka:9092,kafka-1.kafka:9092", "redis://redis.cache:6379", "https://id.example.com/jwks", "tidemark-peers",
		"s3://backups/tidemark?region=eu-central-1", "https://chat.example.com",
	} {
		if !strings.Contains(objects, want) {
			t.Errorf("no object has %s:\n%s", want, objects)
		}
	}
}
