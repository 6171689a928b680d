package differ

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/projections/internal/keys"
)

// TestChannels: each record that one store lacks or has otherwise is found, with its channel, user and
// thread. The header and the chain of cuts may differ.
func TestChannels(t *testing.T) {
	store := func(of map[string]string) *pebble.DB {
		db, err := pebble.Open("", &pebble.Options{FS: vfs.NewMem()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		for k, v := range of {
			if err := db.Set([]byte(k), []byte(v), nil); err != nil {
				t.Fatal(err)
			}
		}
		return db
	}
	hot := func(channel string, kind byte, rest string) string {
		return string(keys.AppendHot(nil, []byte(channel), kind)) + rest
	}
	log := string(keys.AppendLog(nil, []byte("a"), 7))
	same := hot("same", keys.HotChannel, "")
	a := store(map[string]string{"H": "1", "K1": "1", same: "x", hot("b", keys.HotGuest, "ann"): "x", hot("c", keys.HotFollow, "ann\x00t1"): "x", log: "x"})
	b := store(map[string]string{"H": "2", "K1": "2", same: "x", hot("b", keys.HotGuest, "ann"): "y", hot("d", keys.HotChannel, ""): "x", log: "xy"})
	found, more, err := Channels(a, b, 3)
	if err != nil || more != 1 || len(found) != 3 {
		t.Fatalf("%d channels and %d more, %v", len(found), more, err)
	}
	found, more, err = Channels(a, b, 10)
	if err != nil || more != 0 {
		t.Fatalf("%d more, %v", more, err)
	}
	var lines []string
	for _, c := range found {
		for _, d := range c.Records {
			lines = append(lines, fmt.Sprintf("%s %q %v-%v %v", c.ID, d.User, d.A != "none", d.B != "none", c.Threads))
		}
	}
	want := strings.Join([]string{`a "" true-true []`, `b "ann" true-true []`, `c "ann" true-false [{ann t1}]`, `d "" false-true []`}, "\n")
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("differences:\n%s\nwant:\n%s", got, want)
	}
	if found, _, err := Channels(a, a, 10); err != nil || len(found) > 0 {
		t.Errorf("a store differs from itself in %d channels, %v", len(found), err)
	}
}
