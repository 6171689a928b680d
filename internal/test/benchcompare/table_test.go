package main

import (
	"slices"
	"strings"
	"testing"
)

// TestTable: the table shows the lowest figures of both binaries side by side with their ratio, and
// a figure that only one binary has without a ratio.
func TestTable(t *testing.T) {
	base, head := figures{}, figures{}
	var order []figure
	for _, run := range []struct {
		of    figures
		lines string
	}{
		{base, `{"name":"fold","cpu_s_per_mev":2,"goals":[{"what":"cpu-s/Mev","got":2},{"what":"allocations an event","got":0.2}]}` + "\n" + `{"name":"gone","cpu_s_per_mev":1}`},
		{head, `{"name":"fold","cpu_s_per_mev":1.5,"goals":[{"what":"allocations an event","got":0.25}]}` + "\n" + `{"name":"new","cpu_s_per_mev":3}`},
		{base, `{"name":"fold","cpu_s_per_mev":2.5}`},
		{head, `{"name":"fold","cpu_s_per_mev":1}`},
	} {
		err := parse([]byte(run.lines), func(at figure, value float64) {
			run.of.put(at, value)
			if !slices.Contains(order, at) {
				order = append(order, at)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var b strings.Builder
	if err := print(&b, order, base, head); err != nil {
		t.Fatal(err)
	}
	const want = `WHAT  FIGURE                BASE      HEAD      HEAD/BASE
fold  cpu-s/Mev             2 to 2.5  1 to 1.5  0.500
fold  allocations an event  0.2       0.25      1.250
gone  cpu-s/Mev             1         -         -
new   cpu-s/Mev             -         3         -
`
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
	if err := parse([]byte("no result"), nil); err == nil || !strings.Contains(err.Error(), "no result") {
		t.Errorf("a line that is no result: %v", err)
	}
}
