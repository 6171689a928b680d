package partition

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// TestLogs: the bench of old messages measures a store whose log is trimmed, and one whose log is
// not.
func TestLogs(t *testing.T) {
	kept, err := logsOf(context.Background(), 20_000, false)
	if err != nil {
		t.Fatal(err)
	}
	var each float64
	if _, rest, _ := strings.Cut(kept[0].Note, "; "); len(kept) != 1 {
		t.Errorf("%+v", kept)
	} else if _, err := fmt.Sscanf(rest, "%f bytes a message", &each); err != nil || each < 50 {
		t.Errorf("%q, want more than 50 bytes a message", rest)
	}
	results, err := logsOf(context.Background(), 100_000, true)
	if err != nil {
		t.Fatal(err)
	}
	if got := results[0].Goals[0]; got.Got <= 0 || got.Got > got.Limit {
		t.Errorf("%.2f %s, want at most %.2f", got.Got, got.What, got.Limit)
	}
}
