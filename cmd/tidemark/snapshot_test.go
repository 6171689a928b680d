package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/cmd/internal/verbs/snapshots"
	"github.com/tidemark/tidemark/events"
)

// TestSnapshotVerbs goes through the verbs as a person would: take, list, check, damage, repair,
// restore, prune.
func TestSnapshotVerbs(t *testing.T) {
	dir, at := t.TempDir(), t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := dev.Start(ctx, dev.Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AwaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	tokens := lines(ok(t, joinLine+"\n"+postLine("m1", "secret text")+"\n"+readLine, "emit", "--brokers", s.Broker))
	ok(t, "", "query", "channel", "general", "--addr", s.URL, "--after", strings.Join(tokens, ","))
	n := fmt.Sprint(events.PartitionOf([]byte("general"), 4))
	data, bucket := filepath.Join(dir, "state"), "file://"+at
	verb := func(args ...string) result {
		return tidemark(t, "", append([]string{"snapshot"}, append(args, "--snapshots", bucket)...)...)
	}
	expect := func(r result, code int, want ...string) {
		t.Helper()
		for _, w := range want {
			if r.code != code || !strings.Contains(r.out+r.errout, w) {
				t.Errorf("exit %d, want %d and %q:\n%s%s", r.code, code, w, r.out, r.errout)
			}
		}
	}
	expect(verb("create", "--data-dir", data, "--partition", n), exitFailed, "is in use: name the node that uses it with --node")
	expect(verb("list"), exitFailed, "there are no snapshots in file://")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	expect(verb("create", "--data-dir", data), exitDone, "partition "+n+": snapshot 2-1-", "its store is still empty")
	expect(verb("create", "--data-dir", data, "--partition", n), exitDone, "has the same position")
	var info snapshots.Info
	if r := verb("list", "--json"); json.Unmarshal([]byte(r.out), &info) != nil || !strings.HasPrefix(info.Name, "2-1-") || info.Bytes == 0 || len(info.Digest) != 32 || !info.Current {
		t.Errorf("--json: %+v from %q", info, r.out)
	}
	name := info.Name // its last number is how many messages the gateway said were queued
	expect(verb("list"), exitDone, "PARTITION  SNAPSHOT", name, "current")
	expect(verb("verify"), exitDone, "snapshot "+name+" is in order")
	expect(verb("verify", "--partition", "99"), exitFailed, "there is no snapshot of partition 99")

	for _, f := range files(t, filepath.Join(at, "partition-"+n, "files")) {
		file := filepath.Join(at, "partition-"+n, "files", strings.Fields(f)[0])
		if b, err := os.ReadFile(file); err == nil && len(b) > 0 {
			b[len(b)/2] ^= 1
			if err := os.WriteFile(file, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	expect(verb("verify"), exitDifferences, "is damaged: its file")
	back := filepath.Join(t.TempDir(), "back")
	expect(verb("restore", "--data-dir", back), exitFailed, "none of 1 snapshots in file://", "is intact")
	expect(verb("create", "--data-dir", data, "--partition", n, "--full"), exitDone, "were uploaded in")
	expect(verb("verify", "--all", "--json"), exitDone, `"name":"`+name+`"`)
	expect(verb("restore", "--data-dir", back), exitDone, "snapshot "+name+", ", "is in "+filepath.Join(back, "partition-"+n))
	expect(verb("restore", "--data-dir", back), exitFailed, "there is already a store in", "--replace moves it aside")
	expect(verb("restore", "--data-dir", back, "--replace", "--yes", "--partition", n, "--at", name), exitDone, "the old store is in")
	expect(verb("restore", "--data-dir", back, "--replace", "--yes", "--partition", n, "--at", "2-2-0"), exitFailed, "there is no snapshot 2-2-0")
	expect(verb("restore", "--at", name), exitUsage, "name the partition with --partition")
	expect(tidemark(t, "", "inspect", "store", back), exitDone, "(checked)")

	expect(verb("prune", "--snapshot-keep", "0"), exitUsage, "it must be at least 1")
	expect(verb("prune", "--dry-run"), exitDone, "would remove 0 snapshots and 0 files", "keeping 1 snapshot")
	old := time.Now().Add(-25 * time.Hour)
	for _, f := range files(t, filepath.Join(at, "partition-"+n, "files")) {
		if err := os.Chtimes(filepath.Join(at, "partition-"+n, "files", strings.Fields(f)[0]), old, old); err != nil {
			t.Fatal(err)
		}
	}
	expect(verb("prune", "--yes", "--json"), exitDone, `"dry_run":false`, `"kept":1`)
	if r := verb("prune", "--yes"); !strings.Contains(r.out, "removed 0 snapshots and 0 files") {
		t.Errorf("what was pruned once is pruned again: %+v", r)
	}
	expect(verb("verify"), exitDone, "is in order") // the damaged files are gone, the good ones are not
	expect(tidemark(t, "", "snapshot", "list", "--snapshots", "ftp://x/y"), exitUsage, "is no place for snapshots")
}
