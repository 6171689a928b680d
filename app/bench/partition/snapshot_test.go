package partition

import (
	"strings"
	"testing"
)

// TestSnapshotRun runs the bench of snapshots on a small partition.
func TestSnapshotRun(t *testing.T) {
	results, err := snapshots(t.Context(), 1_000)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 2 || results[0].Goals[0].Got <= 0 || results[1].Goals[0].Got <= 0 || !strings.Contains(results[1].Name, "0.05M pairs") {
		t.Errorf("%+v", results)
	}
}
