package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/importer/source"
	"github.com/tidemark/tidemark/internal/test/chats"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// tidemarkUntil runs a command line until ctx ends.
func tidemarkUntil(ctx context.Context, args ...string) result {
	var out, errout bytes.Buffer
	code := execute(ctx, append([]string{"tidemark"}, args...), strings.NewReader(""), &out, &errout)
	return result{code, out.String(), errout.String()}
}

// An import with a slot says what the database lacks, then makes the slot and says what it holds
// back. A bridge goes on from there: what was posted after the import is unread.
func TestImportWithASlot(t *testing.T) {
	s, dsn := stack(t), testkit.Postgres(t)
	last := time.Now().Add(-time.Hour).UnixMilli()
	m := &chats.Mattermost{Now: func() int64 { last++; return last }}
	for _, sql := range append(m.Begin([]string{"ann", "bob"}, []string{"general"}), m.Post("general", "ann", "first")...) {
		testkit.SQL(t, dsn, sql)
	}
	at := []string{"mattermost", "--source", dsn, "--slot", "chat", "--brokers", s.Broker}
	args := append([]string{"import"}, at...)
	r := tidemark(t, "", args...)
	_, sql, found := strings.Cut(r.errout, ":\n")
	if r.code != exitFailed || !found || !strings.Contains(r.errout, "the publications of the slot chat lack tables") {
		t.Fatalf("without publications: %+v", r)
	}
	if _, err := source.RetainedBy(t.Context(), dsn, "chat"); err == nil {
		t.Error("there is a slot without publications")
	}
	testkit.SQL(t, dsn, sql)
	if r := tidemark(t, "", append([]string{"bridge"}, at...)...); r.code != exitFailed || !strings.Contains(r.errout, "there is no import mattermost/chat") {
		t.Errorf("a bridge without an import: %+v", r)
	}
	if out := ok(t, "", args...); !strings.Contains(out, "chat holds back ") {
		t.Errorf("the import does not say what its slot holds back:\n%s", out)
	}
	for _, sql := range m.Post("general", "ann", "second") {
		testkit.SQL(t, dsn, sql)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan result, 1)
	go func() { ended <- tidemarkUntil(ctx, append([]string{"bridge"}, at...)...) }()
	eventually(t, "unread          2\n", "query", "unread", "bob", "general", "--addr", s.URL)
	drop := append(args, "--drop-slot", "--yes")
	if r := tidemark(t, "", drop...); r.code != exitFailed || !strings.Contains(r.errout, "stop that bridge first") {
		t.Errorf("a slot that is read: %+v", r)
	}
	stop()
	if r := <-ended; r.code != exitDone || !strings.Contains(r.errout, "chat holds back ") {
		t.Errorf("a bridge that is stopped: %+v", r)
	}
	for _, answer := range []string{"", "no\n"} { // neither a silence nor a no
		if r := tidemark(t, answer, append(args, "--drop-slot")...); r.code != exitUsage || !strings.Contains(r.errout, "removes the replication slot of the database: chat holds back ") {
			t.Errorf("without --yes: %+v", r)
		}
	}
	if out := ok(t, "", drop...); !strings.Contains(out, "of WAL since ") || !strings.Contains(out, "; the slot is removed\n") {
		t.Errorf("%s", out)
	}
	for want, args := range map[string][]string{
		"the database has no replication slot of this name":         drop,
		"are lost to the bridge; import again into fresh topics":    append([]string{"bridge"}, at...),
		"mattermost/chat: this import is done":                      args,
		"no source of changes is named":                             {"bridge", "mattermost", "--source", dsn},
		"--slot and --debezium read the same changes in two ways":   {"bridge", "mattermost", "--source", dsn, "--slot", "chat", "--debezium", "cdc"},
		"--mapping belongs to a database":                           {"bridge", "table", "--source", dsn, "--slot", "chat"},
		"does not name the tables to follow":                        {"bridge", "table", "--source", dsn, "--slot", "chat", "--mapping", "testdata/verbs/no-heal.yml"},
		"\"Chat\" is not the name of a replication slot":            {"bridge", "mattermost", "--source", dsn, "--slot", "Chat"},
		"MongoDB has no replication slots":                          {"bridge", "rocketchat", "--source", t.TempDir(), "--slot", "chat"},
		"--source of rocketchat must be the folder":                 {"bridge", "rocketchat", "--source", dsn, "--debezium", "rc"},
		"--debezium has no mapping for zulip":                       {"bridge", "zulip", "--source", dsn, "--debezium", "cdc"},
		"--debezium has no mapping for tinode":                      {"bridge", "tinode", "--source", dsn, "--debezium", "cdc"},
		"--drop-slot removes a replication slot: name it with --sl": {"import", "mattermost", "--source", dsn, "--drop-slot"},
	} {
		if r := tidemark(t, "", args...); !strings.Contains(r.errout, want) {
			t.Errorf("%v: want %q: %+v", args, want, r)
		}
	}
}

// A bridge follows what Debezium writes, from the moment on that an import without a slot has.
func TestBridgeOfDebezium(t *testing.T) {
	s, dsn := stack(t), testkit.Postgres(t)
	last := time.Now().Add(-time.Hour).UnixMilli()
	m := &chats.Mattermost{Now: func() int64 { last++; return last }}
	for _, sql := range append(m.Begin([]string{"ann", "bob"}, []string{"general"}), m.Post("general", "ann", "first")...) {
		testkit.SQL(t, dsn, sql)
	}
	at := []string{"mattermost", "--source", dsn, "--brokers", s.Broker}
	ok(t, "", append([]string{"import"}, at...)...)
	cl := testkit.Client(t, []string{s.Broker})
	if _, err := kadm.NewClient(cl).CreateTopic(t.Context(), 1, 1, nil, "cdc.public.posts"); err != nil {
		t.Fatal(err)
	}
	for id, tx := range map[string]uint32{"p0": 1, "new": testkit.TxID(t, dsn)} { // the import has the first one
		value := fmt.Sprintf(`{"before":null,"after":{"id":"%s","channelid":"general","userid":"ann","createat":%d,"deleteat":0,"rootid":"","originalid":"","message":"hello","type":""},
			"source":{"connector":"postgresql","ts_ms":%d,"snapshot":"false","sequence":"[\"1\",\"2\"]","schema":"public","table":"posts","txId":%d,"lsn":2},"op":"c"}`, id, last+1, last+1, tx)
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "cdc.public.posts", Value: []byte(value)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan result, 1)
	go func() { ended <- tidemarkUntil(ctx, append([]string{"bridge", "--debezium", "cdc"}, at...)...) }()
	eventually(t, "unread          2\n", "query", "unread", "bob", "general", "--addr", s.URL)
	stop()
	if r := <-ended; r.code != exitDone {
		t.Errorf("a bridge that is stopped: %+v", r)
	}
}

// A bridge of Rocket.Chat follows what Debezium writes behind the dump that was imported.
func TestBridgeOfDocuments(t *testing.T) {
	s, dir := stack(t), t.TempDir()
	c := chats.PlayRocketChat(rand.New(rand.NewPCG(1, 1)), time.Now().Add(-24*time.Hour).UnixMilli(), 1)
	must(c.Write(dir)) // somebody has joined a room
	at := []string{"rocketchat", "--source", dir, "--brokers", s.Broker}
	ok(t, "", append([]string{"import"}, at...)...)
	cl := testkit.Client(t, []string{s.Broker})
	for i, document := range []string{
		`{"_id":"s1","rid":"GENERAL","t":"c","u":{"_id":"eve"},"ts":{"$date":%d},"ls":{"$date":%[1]d}}`,
		`{"_id":"m1","rid":"GENERAL","u":{"_id":"fay"},"ts":{"$date":%d},"msg":"hello"}`,
	} {
		collection := []string{"rocketchat_subscription", "rocketchat_message"}[i]
		if _, err := kadm.NewClient(cl).CreateTopic(t.Context(), 1, 1, nil, "rc.rocketchat."+collection); err != nil {
			t.Fatal(err)
		}
		now := time.Now().UnixMilli()
		after, err := json.Marshal(fmt.Sprintf(document, now-int64(1000*(1-i))))
		must(err)
		value := fmt.Sprintf(`{"after":%s,"op":"c","source":{"connector":"mongodb","ts_ms":%d,"snapshot":"false","db":"rocketchat","collection":"%s","ord":%d}}`, after, now/1000*1000, collection, i+1)
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "rc.rocketchat." + collection, Key: []byte(`{"id":"\"x\""}`), Value: []byte(value)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan result, 1)
	go func() { ended <- tidemarkUntil(ctx, append([]string{"bridge", "--debezium", "rc"}, at...)...) }()
	eventually(t, "unread          1\n", "query", "unread", "eve", "GENERAL", "--addr", s.URL)
	stop()
	if r := <-ended; r.code != exitDone {
		t.Errorf("a bridge that is stopped: %+v", r)
	}
}
