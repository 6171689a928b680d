package gauge

import (
	"strings"
	"testing"
)

// A number beyond the hard limit is refused with the way out, and one below the current limit
// changes nothing.
func TestNeedFiles(t *testing.T) {
	if err := NeedFiles(1); err != nil {
		t.Fatal(err)
	}
	// This is more than fs.nr_open of any Linux allows, so even root is refused.
	if err := NeedFiles(1 << 40); err == nil || !strings.Contains(err.Error(), "ulimit -n 1099511627776") {
		t.Errorf("the error is %v", err)
	}
}
