package partition

import (
	"context"
	"testing"
)

// TestLogs: the bench of old messages measures a store whose log is trimmed.
func TestLogs(t *testing.T) {
	results, err := logsOf(context.Background(), 100_000)
	if err != nil {
		t.Fatal(err)
	}
	if got := results[0].Goals[0]; got.Got <= 0 || got.Got > got.Limit {
		t.Errorf("%.2f %s, want at most %.2f", got.Got, got.What, got.Limit)
	}
}
