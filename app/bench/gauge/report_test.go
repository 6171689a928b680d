package gauge

import (
	"bytes"
	"testing"
)

// TestPrint: the table has aligned columns, and dashes for missing figures.
func TestPrint(t *testing.T) {
	var b bytes.Buffer
	if err := Print(&b, []Result{
		{Name: "a", CPU: 1.234, Rate: 1000, Goals: []Goal{AtMost("apples", 3.14159, 4), AtLeast("pears", 1, 2)}, Note: "n"},
		{Name: "longer"},
	}); err != nil {
		t.Fatal(err)
	}
	want := `WHAT    CPU-S/MEV  EVENTS/S  GOAL                          NOTE
a       1.23       1000      3.14 apples, at most 4: met   n
                             1 pears, at least 2: NOT MET  
longer  -          -         -                             
`
	if b.String() != want {
		t.Fatalf("%s, want\n%s", b.String(), want)
	}
}
