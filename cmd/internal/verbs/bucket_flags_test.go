package verbs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// bucketOf makes a bucket in a folder with a snapshot of each partition, and its flags.
func bucketOf(t *testing.T, partitions ...int32) verbs.BucketFlags {
	t.Helper()
	dir := t.TempDir()
	f := verbs.BucketFlags{Snapshots: "file://" + filepath.Join(dir, "bucket")}
	r, err := f.Open(snapshot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range partitions {
		p, err := projections.Open(filepath.Join(dir, "store", fmt.Sprint(n)), projections.Identity{ClusterID: "c", Partition: n, Partitions: 8,
			Settings: projections.DefaultSettings()}, projections.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p.FoldMessage(&events.Message{Kind: events.KindMembersJoined, ChannelID: []byte("c"), IDs: [][]byte{[]byte("u")}}, 0, 1000)
		p.Drain(&projections.Deltas{}, true)
		c, err := p.Cut()
		if err == nil {
			err = c.Apply()
		}
		if err == nil {
			_, _, err = r.Create(t.Context(), p, filepath.Join(dir, "checkpoint"), snapshot.CreateOptions{})
		}
		if err := errors.Join(err, p.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// Each calls its function for all partitions or for the given ones. A failed partition does not
// stop the others, and an interrupted verb stops.
func TestEachPartition(t *testing.T) {
	a, _, _ := newApp(t)
	f := bucketOf(t, 1, 3, 4)
	r, err := f.Open(snapshot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var seen []int32
	fail := func(n int32) error {
		seen = append(seen, n)
		if n == 3 {
			return errors.New("broken")
		}
		return nil
	}
	if err := f.Each(a, r, fail); err == nil || err.Error() != "partition 3: broken" || !slices.Equal(seen, []int32{1, 3, 4}) {
		t.Errorf("partitions %v, %v", seen, err)
	}
	seen, f.Partition = nil, []int32{4}
	if err := f.Each(a, r, fail); err != nil || !slices.Equal(seen, []int32{4}) {
		t.Errorf("partitions %v, %v", seen, err)
	}
	seen, f.Partition = nil, []int32{4, 2}
	if err := f.Each(a, r, fail); err == nil || !strings.Contains(err.Error(), "no snapshot of partition 2") || seen != nil {
		t.Errorf("partitions %v, %v", seen, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	seen, f.Partition = nil, nil
	if err := f.Each(within(ctx, a, nil), r, func(n int32) error { seen = append(seen, n); cancel(); return nil }); err != nil || len(seen) != 1 {
		t.Errorf("interrupted, but partitions %v, %v", seen, err)
	}
	empty := bucketOf(t)
	if r, err = empty.Open(snapshot.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := empty.Each(a, r, fail); err == nil || !strings.Contains(err.Error(), "there are no snapshots in") {
		t.Errorf("the error is %v", err)
	}
}

// TestPartitionsSideBySide: two of four partitions are worked on at a time, never three. Errors
// come in the order of the partitions, and a panic is the error of its partition.
func TestPartitionsSideBySide(t *testing.T) {
	a, _, _ := newApp(t)
	f := bucketOf(t, 1, 2, 3, 4)
	r, err := f.Open(snapshot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	working, most := 0, 0
	pair := make(chan struct{})
	err = f.SideBySide(a, r, 2, func(n int32) error {
		mu.Lock()
		working++
		most = max(most, working)
		mu.Unlock()
		select { // until the other one of the two comes as well
		case pair <- struct{}{}:
		case <-pair:
		case <-time.After(time.Minute):
			return errors.New("nobody works beside it")
		}
		mu.Lock()
		working--
		mu.Unlock()
		switch n {
		case 1:
			return errors.New("broken")
		case 4:
			panic("worse")
		}
		return nil
	})
	if err == nil || !strings.HasPrefix(err.Error(), "partition 1: broken\npartition 4: ") || !strings.Contains(err.Error(), "worse") {
		t.Errorf("the error is %v", err)
	}
	if most != 2 {
		t.Errorf("%d partitions at a time", most)
	}
}

func TestBucketFlagsAreChecked(t *testing.T) {
	var usage verbs.UsageError
	if _, err := (verbs.BucketFlags{Snapshots: "ftp://x"}).Open(snapshot.Options{}); !errors.As(err, &usage) || !strings.HasPrefix(err.Error(), "--snapshots: ") {
		t.Errorf("the error is %v", err)
	}
	for _, c := range []struct {
		flags verbs.RetentionFlags
		want  string
	}{
		{verbs.RetentionFlags{SnapshotKeep: 1, SnapshotGrace: time.Minute}, ""},
		{verbs.RetentionFlags{SnapshotKeep: 0, SnapshotGrace: time.Hour}, "--snapshot-keep 0"},
		{verbs.RetentionFlags{SnapshotKeep: 3, SnapshotGrace: time.Minute - 1}, "--snapshot-grace"},
	} {
		if err := c.flags.Check(); (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.flags, err, c.want)
		}
	}
}

// Only folders with the name of a store are stores.
func TestStoresIn(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"partition-0", "partition-17", "partition--1", "partition-x", "partition-3.snapshot", "other"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "partition-5"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	stores, err := verbs.StoresIn(dir)
	if err != nil || len(stores) != 2 || stores[0] != verbs.StoreDir(dir, 0) || stores[17] != verbs.StoreDir(dir, 17) {
		t.Errorf("%v, %v", stores, err)
	}
	if _, err := verbs.StoresIn(filepath.Join(dir, "missing")); err == nil {
		t.Error("a missing data directory has stores")
	}
}

// A store that another process has open is recognized, and other errors are not mistaken for it.
func TestStoreInUse(t *testing.T) {
	dir := t.TempDir()
	p, err := projections.Open(dir, projections.Identity{ClusterID: "c", Partitions: 1, Settings: projections.DefaultSettings()}, projections.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = projections.OpenStopped(dir, nil)
	if !verbs.IsInUse(err) {
		t.Errorf("in use, but the error is %v", err)
	}
	if reported := verbs.InUse(dir, err); !errors.Is(reported, err) || !strings.Contains(reported.Error(), "tidemark query") {
		t.Errorf("the sentence is %v", reported)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := projections.OpenStopped(filepath.Join(dir, "missing"), nil); err == nil || verbs.IsInUse(err) {
		t.Errorf("missing, but the error is %v", err)
	}
	if verbs.IsInUse(nil) {
		t.Error("no error is one of use")
	}
}
