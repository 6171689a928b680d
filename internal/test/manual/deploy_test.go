package manual

import (
	"testing"

	"github.com/tidemark/tidemark/internal/test/transcript"
)

// TestDeploy starts the node of docs/deploy.md. The other commands of that page need a cloud or
// Kubernetes.
func TestDeploy(t *testing.T) {
	t.Parallel()
	s := newSite(t, "docs/deploy.md")
	s.runs("Start", 1, transcript.Masked)
	s.running = s.Start(t, s.Replace.Replace(s.next("Start").Command), "http://"+s.node)
	s.runs("Health", 1, transcript.Masked)
	s.stop()
	s.allRun()
}
