package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/cmd/internal/verbs/inspect"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

// storeOfGeneral folds a story of channel general into the store of its partition, of four, and
// returns its number.
func storeOfGeneral(t *testing.T, dataDir string) int32 {
	t.Helper()
	const partitions = 4
	id := projections.Identity{ClusterID: "cluster-1", Partition: events.PartitionOf([]byte("general"), partitions), Partitions: partitions,
		Settings: projections.DefaultSettings()}
	for in, name := range events.InputTopics {
		id.Topics[in] = projections.TopicIdentity{Name: name, ID: [16]byte{byte(in + 1)}}
	}
	p, err := projections.Open(processor.StoreDir(dataDir, id.Partition), id, projections.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const start = 1_700_000_000_000
	var offsets [2]int64
	message := func(m events.Message) {
		m.ChannelID, m.OccurredAt = []byte("general"), start+1000*offsets[0]
		p.FoldMessage(&m, offsets[0], m.OccurredAt)
		offsets[0]++
	}
	post := func(id, sender, thread string, mentions ...string) {
		m := events.Message{Kind: events.KindMessagePosted, MessageID: []byte(id), SenderID: []byte(sender), ThreadID: []byte(thread), Preview: []byte("secret " + id)}
		for _, u := range mentions {
			m.IDs = append(m.IDs, []byte(u))
		}
		message(m)
	}
	message(events.Message{Kind: events.KindMembersJoined, IDs: [][]byte{[]byte("ann"), []byte("bob"), []byte("cid")}})
	post("m1", "bob", "")
	post("m2", "bob", "", "ann")
	post("m3", "bob", "")
	post("m4", "ann", "")
	post("r1", "bob", "m4")
	post("m5", "bob", "")
	message(events.Message{Kind: events.KindMembersLeft, IDs: [][]byte{[]byte("cid")}})
	read := events.Read{Kind: events.KindMarkedUnread, ChannelID: []byte("general"), UserID: []byte("ann"), OccurredAt: start + 60_000,
		MessageID: []byte("m2"), HeadSeq: 6}
	p.FoldRead(&read, offsets[1], read.OccurredAt)
	stored(t, p)
	return id.Partition
}

func TestInspectWhatAStoreKnows(t *testing.T) {
	dir := t.TempDir()
	n := storeOfGeneral(t, dir)
	store := processor.StoreDir(dir, n)
	before := files(t, store)
	show := func(name string, args ...string) {
		t.Helper()
		out := strings.ReplaceAll(ok(t, "", append([]string{"inspect", "store", dir}, args...)...), dir, "DATA")
		golden(t, "../verbs/"+name, out)
		if strings.Contains(out, "secret") {
			t.Errorf("the text of a message is shown:\n%s", out)
		}
	}
	show("inspect-channel", "--channel", "general")
	show("inspect-user", "--user", "ann")
	show("inspect-pair", "--channel", "general", "--user", "ann")
	show("inspect-limit", "--channel", "general", "--limit", "1")

	var info inspect.LookInfo
	out := ok(t, "", "inspect", "store", store, "--channel", "general", "--user", "ann", "--json")
	if err := json.Unmarshal([]byte(out), &info); err != nil || info.Partition != n || info.Position[events.Messages] != 8 || len(info.Pairs) != 1 ||
		info.Pairs[0].Unread != 3 || info.Pairs[0].ReadEpoch != 2 || !slices.Equal(info.Pairs[0].Explanation.MessageIDs, []string{"m2", "m3", "m5"}) ||
		info.Pairs[0].Explanation.Excluded["own"] != 1 || len(info.Threads) != 1 || info.Threads[0].Unread != 1 {
		t.Errorf("--json: %s, %v", out, err)
	}
	if after := files(t, store); !slices.Equal(before, after) {
		t.Errorf("looking changed the store: %v, before %v", after, before)
	}

	fails := func(code int, want string, args ...string) {
		t.Helper()
		if r := tidemark(t, "", append([]string{"inspect", "store"}, args...)...); r.code != code || !strings.Contains(r.errout, want) {
			t.Errorf("%v: %+v, want %d and %q", args, r, code, want)
		}
	}
	fails(exitFailed, `user "nobody" is not in this store`, dir, "--user", "nobody")
	elsewhere := "x"
	for events.PartitionOf([]byte(elsewhere), 4) == n {
		elsewhere += "x"
	}
	fails(exitFailed, "and "+store+" holds partition", dir, "--channel", elsewhere)
	here := "x"
	for events.PartitionOf([]byte(here), 4) != n {
		here += "x"
	}
	fails(exitFailed, "is not in this store: up to its position nobody posted to it or joined it, or it was deleted", dir, "--channel", here)
	fails(exitUsage, "--limit 0", dir, "--channel", "general", "--limit", "0")
	fails(exitUsage, "tidemark inspect snapshot file:///x", "file:///x")
	stopped, err := projections.OpenStopped(store, nil)
	if err != nil {
		t.Fatal(err)
	}
	fails(exitFailed, "is in use: query the node that uses it (`tidemark query`), look into a snapshot", dir, "--channel", "general")
	if err := stopped.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestInspectSnapshot(t *testing.T) {
	dir, at, tmp := t.TempDir(), t.TempDir(), t.TempDir()
	n := storeOfGeneral(t, dir)
	url := "file://" + at
	verb := func(args ...string) result {
		return tidemark(t, "", append([]string{"inspect", "snapshot", url}, args...)...)
	}
	if r := verb(); r.code != exitFailed || !strings.Contains(r.errout, "there are no snapshots in "+url) {
		t.Errorf("without any: %+v", r)
	}
	ok(t, "", "snapshot", "create", "--data-dir", dir, "--snapshots", url)

	var info inspect.SnapshotLook
	out := ok(t, "", "inspect", "snapshot", url, "--json", "--files")
	if err := json.Unmarshal([]byte(out), &info); err != nil || info.Name != "8-1-0" || info.Partition != n || info.Cluster != "cluster-1" ||
		len(info.Digest) != 32 || len(info.FileList) != info.Files || info.Topics[0].Position != 8 {
		t.Errorf("--json: %s, %v", out, err)
	}
	for _, want := range []string{"snapshot   8-1-0\n", "in         " + url + "/partition-", "cluster    cluster-1", "fanout-limit 50", "chat.messages              8  "} {
		if r := verb(); r.code != exitDone || !strings.Contains(r.out, want) {
			t.Errorf("%q is not in %+v", want, r)
		}
	}

	r := verb("--channel", "general", "--user", "ann", "--tmp", tmp)
	want := ok(t, "", "inspect", "store", dir, "--channel", "general", "--user", "ann")
	_, message, _ := strings.Cut(r.out, "\n") // but for the first line, where it is from
	if _, line, _ := strings.Cut(want, "\n"); r.code != exitDone || message != line || !strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(r.out, "store")), url+", snapshot 8-1-0 of partition ") {
		t.Errorf("%+v\nthe store itself says\n%s", r, want)
	}
	if r := verb("--user", "nobody", "--tmp", tmp); r.code != exitFailed || !strings.Contains(r.errout, `user "nobody" is not in this store`) {
		t.Errorf("an unknown user: %+v", r)
	}
	if r := verb("--at", "1-1-1"); r.code != exitUsage || !strings.Contains(r.errout, "name the partition with --partition") {
		t.Errorf("--at alone: %+v", r)
	}

	// A damaged one is said to be damaged, and nothing of it is left.
	names, err := filepath.Glob(filepath.Join(at, "partition-*", "files", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range names {
		b, err := os.ReadFile(file)
		if err != nil || len(b) == 0 {
			continue
		}
		b[len(b)/2] ^= 1
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if r := verb("--channel", "general", "--tmp", tmp); r.code != exitFailed || !strings.Contains(r.errout, "is damaged") {
		t.Errorf("a damaged snapshot: %+v", r)
	}
	if left := files(t, tmp); len(left) > 0 {
		t.Errorf("looking left %v", left)
	}
}
