package partition

import (
	"strings"
	"testing"
)

// TestSnapshotRun runs the bench of snapshots on a small partition, whose store is compacted, or is
// not.
func TestSnapshotRun(t *testing.T) {
	for rested, name := range map[bool]string{true: "0.05M pairs", false: "0.05M pairs, as loaded"} {
		results, err := snapshots(t.Context(), 1_000, rested)
		if err != nil {
			t.Fatal(err)
		}
		if len(results) != 3 {
			t.Fatalf("%+v", results)
		}
		for _, r := range results {
			if r.Goals[0].Got <= 0 || !strings.HasSuffix(r.Name, name) {
				t.Errorf("%+v", r)
			}
		}
		if share := results[2].Goals[0].Got; share > 0.9 {
			t.Errorf("restores side by side take %.2f of the time that they take one after the other", share)
		}
	}
}
