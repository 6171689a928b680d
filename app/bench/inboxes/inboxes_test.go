package inboxes

import "testing"

// TestMeasure runs the bench inbox on few partitions: it answers, and both kinds of answers are
// measured.
func TestMeasure(t *testing.T) {
	out, err := measure(t.Context(), t.Output(), 16, 20, 200, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range out {
		t.Logf("%+v", r)
	}
	if len(out) != 2 || len(out[0].Goals) != 2 {
		t.Errorf("%d results", len(out))
	}
}
