package rebuild

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

// storeAt makes a store of partition n that has folded so many records.
func storeAt(t *testing.T, dataDir string, n int32, records int64) {
	t.Helper()
	p := openAt(t, dataDir, n)
	for i := range records {
		p.FoldMessage(&events.Message{Kind: events.KindMembersJoined, ChannelID: []byte("c"), IDs: [][]byte{[]byte("u")}, OccurredAt: 1000}, i, 1000)
	}
	p.Drain(nil, true)
	c, err := p.Cut()
	if err == nil {
		err = c.Apply()
	}
	if cerr := p.Close(); err != nil || cerr != nil {
		t.Fatal(err, cerr)
	}
}

func openAt(t *testing.T, dataDir string, n int32) *projections.Partition {
	t.Helper()
	id := projections.Identity{ClusterID: "k", Partition: n, Partitions: 4, Settings: projections.DefaultSettings()}
	p, err := projections.Open(processor.StoreDir(dataDir, n), id, projections.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// position is that of a store, -1 if there is none.
func position(t *testing.T, dataDir string, n int32) int64 {
	t.Helper()
	dir := processor.StoreDir(dataDir, n)
	if _, err := os.Stat(dir); os.IsNotExist(err) {
		return -1
	}
	x, err := projections.InspectHeader(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return x.Position[events.Messages]
}

// TestSameSettings: one store with other settings is enough to refuse them, and one that cannot be
// read is not.
func TestSameSettings(t *testing.T) {
	data := t.TempDir()
	storeAt(t, data, 0, 1)
	storeAt(t, data, 2, 1)
	if err := os.Mkdir(processor.StoreDir(data, 3), 0o700); err != nil {
		t.Fatal(err)
	}
	same := projections.DefaultSettings()
	if err := SameSettings(data, same); err != nil {
		t.Errorf("the settings of the stores: %v", err)
	}
	other := same
	other.SendMarksRead = !same.SendMarksRead
	if err := SameSettings(data, other); err == nil || !strings.Contains(err.Error(), "was folded with "+same.String()) {
		t.Errorf("other settings: %v", err)
	}
	if err := SameSettings(t.TempDir(), other); err != nil {
		t.Errorf("without a store: %v", err)
	}
}

func TestSwap(t *testing.T) {
	data := t.TempDir()
	from, aside := filepath.Join(data, "rebuilt"), Aside(data, time.Unix(1_700_000_000, 0))
	storeAt(t, data, 0, 1) // stays
	storeAt(t, data, 1, 2) // is replaced; of 2 there is none
	storeAt(t, from, 1, 3)
	storeAt(t, from, 2, 4)

	for _, dir := range []string{data, from} { // a process uses one of them
		p := openAt(t, dir, 1)
		if err := Swap(data, from, []int32{1, 2}, aside); err == nil || !strings.Contains(err.Error(), stopFirst) {
			t.Errorf("with a store of %s in use: %v", filepath.Base(dir), err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for n, want := range map[int32]int64{0: 1, 1: 2, 2: -1} {
		if at := position(t, data, n); at != want {
			t.Errorf("a swap that was refused has left partition %d at %d, want %d", n, at, want)
		}
	}
	if err := Swap(data, from, []int32{1, 2}, aside); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int32]int64{0: 1, 1: 3, 2: 4} {
		if at := position(t, data, n); at != want {
			t.Errorf("partition %d is at %d, want %d", n, at, want)
		}
	}
	if at := position(t, aside, 1); at != 2 {
		t.Errorf("the store that was replaced is at %d, want 2", at)
	}
	if _, err := os.Stat(from); !os.IsNotExist(err) {
		t.Errorf("the empty directory of the rebuild stays: %v", err)
	}
	if stores, err := processor.Stores(data); err != nil || !slices.Equal(stores, []int32{0, 1, 2}) {
		t.Errorf("the node has the stores %v, %v", stores, err)
	}
}

// TestSwapWithoutARebuiltStore: nothing is taken away for which there is nothing to put there.
func TestSwapWithoutARebuiltStore(t *testing.T) {
	data := t.TempDir()
	from, aside := filepath.Join(data, "rebuilt"), filepath.Join(data, "aside")
	storeAt(t, data, 0, 1)
	storeAt(t, data, 1, 2)
	storeAt(t, from, 0, 3)
	if err := Swap(data, from, []int32{0, 1}, aside); err == nil || !strings.Contains(err.Error(), "no rebuilt store") {
		t.Errorf("%v", err)
	}
	for n, want := range map[int32]int64{0: 1, 1: 2} {
		if at := position(t, data, n); at != want {
			t.Errorf("partition %d is at %d, want %d as before", n, at, want)
		}
	}
}
