package peer

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestDoubtsAreForgotten(t *testing.T) {
	now := time.Now()
	d := &Doubts{Now: func() time.Time { return now }}
	d.Clear("http://10.0.0.5:1")
	d.Add("http://10.0.0.5:1", "first")
	d.Add("http://10.0.0.5:1", "second")
	now = now.Add(doubtFor / 2)
	d.Add("http://10.0.0.6:1", "third")
	d.Add("http://10.0.0.7:1", "fourth")
	d.Clear("http://10.0.0.7:1")
	if got := d.Lines(); !slices.Equal(got, []string{"calls cannot be forwarded to 10.0.0.5:1: second", "calls cannot be forwarded to 10.0.0.6:1: third"}) {
		t.Errorf("%q", got)
	}
	now = now.Add(doubtFor/2 + 1)
	if got := d.Lines(); !slices.Equal(got, []string{"calls cannot be forwarded to 10.0.0.6:1: third"}) {
		t.Errorf("after a minute: %q", got)
	}
	for i := range 1000 {
		d.Add(fmt.Sprintf("http://10.0.1.1:%d", i), "x")
	}
	if n := len(d.Lines()); n != maxDoubts {
		t.Errorf("%d nodes are remembered", n)
	}
	var none *Doubts
	none.Add("", "")
	none.Clear("")
	if none.Lines() != nil {
		t.Error("nobody has doubts")
	}
}
