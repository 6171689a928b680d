package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/cmd/internal/verbs/inspect"
	"github.com/tidemark/tidemark/events"
)

func TestInspectStore(t *testing.T) {
	dir := t.TempDir()
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
	ok(t, "", "query", "channel", "general", "--addr", s.URL, "--after", strings.Join(tokens, ",")) // they are folded
	p := events.PartitionOf([]byte("general"), 4)
	store := filepath.Join(dir, "state", fmt.Sprintf("partition-%d", p))

	if r := tidemark(t, "", "inspect", "store", store); r.code != exitFailed || !strings.Contains(r.errout, "is in use: query the node that uses it") {
		t.Errorf("while the node runs: %+v", r)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := files(t, store)
	out := ok(t, "", "inspect", "store", store)
	for _, want := range []string{
		fmt.Sprintf("partition  %d of 4", p), "cluster    tidemark-dev", "fanout-limit 50", "(checked)",
		"chat.messages              2  ", "chat.reads                 1  ", "chat.deliveries  ", "channels                1", "blocks of receipts      1",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if strings.Contains(out, "secret") {
		t.Errorf("the text of a message is shown:\n%s", out)
	}
	if after := files(t, store); !slices.Equal(before, after) {
		t.Errorf("looking changed the store: %v, before %v", after, before)
	}
	// One that has nothing yet is empty, not broken.
	other := filepath.Join(dir, "state", fmt.Sprintf("partition-%d", (p+1)%4))
	if out := ok(t, "", "inspect", "store", other); !strings.Contains(out, "empty: nothing was ever written to it") {
		t.Errorf("a store that was never written:\n%s", out)
	}
	var info inspect.StoreInfo
	if err := json.Unmarshal([]byte(ok(t, "", "inspect", "store", store, "--json")), &info); err != nil ||
		info.Partition != p || info.Topics[0].Position != 2 || len(info.Digest) != 32 || info.Error != "" {
		t.Errorf("--json: %+v, %v", info, err)
	}
}

// files are the names and sizes of a directory's files.
func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		i, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s %d", e.Name(), i.Size()))
	}
	return list
}

func TestInspectWhatIsNoStore(t *testing.T) {
	dir := t.TempDir()
	r := tidemark(t, "", "inspect", "store", dir)
	if r.code != exitFailed || !strings.Contains(r.errout, "is not a store") {
		t.Errorf("an empty directory: %+v", r)
	}
	if left := files(t, dir); len(left) > 0 {
		t.Errorf("looking left %v", left)
	}
	if r := tidemark(t, "", "inspect", "store", filepath.Join(dir, "not")); r.code != exitFailed || !strings.Contains(r.errout, "no store at") {
		t.Errorf("a missing directory: %+v", r)
	}
}
