package overlay

import (
	"fmt"
	"testing"
)

// TestOverlay: the newest record of a key wins, and a deleted key differs from an unknown one.
func TestOverlay(t *testing.T) {
	o := &Overlay{}
	for i := range 2000 {
		o.Put([]byte(fmt.Sprintf("key%d", i%700)), []byte(fmt.Sprintf("val%d", i)), i%7 == 3)
	}
	for k := range 700 {
		last := k
		for last+700 < 2000 {
			last += 700
		}
		v, deleted, ok := o.Get([]byte(fmt.Sprintf("key%d", k)))
		if !ok || deleted != (last%7 == 3) || string(v) != fmt.Sprintf("val%d", last) {
			t.Fatalf("key%d: %q deleted %t known %t, want val%d", k, v, deleted, ok, last)
		}
	}
	if _, _, ok := o.Get([]byte("other")); ok {
		t.Fatal("an unknown key is known")
	}
	if _, _, ok := (*Overlay)(nil).Get([]byte("key1")); ok {
		t.Fatal("no overlay knows a key")
	}
}
