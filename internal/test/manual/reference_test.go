package manual

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/transcript"
)

// message returns a line for emit, with a message in general.
func message(id, sender, more, preview string) string {
	return fmt.Sprintf(`{"topic":"chat.messages","event":{"channel_id":"general","message_posted":{"message_id":%q,"sender_id":%q,"preview":%q%s}}}`, id, sender, preview, more)
}

// delivery returns a line for emit about m4, which Ann was sent.
func delivery(kind string) string {
	return fmt.Sprintf(`{"topic":"chat.deliveries","event":{"channel_id":"general","user_id":"ann",%q:{"message_id":"m4"}}}`, kind)
}

// TestReference runs the commands of docs/reference.md, and compares their outputs. A command that
// asks a person gets --yes. TestImportSynapse and TestImportTable run import, compare, heal, bridge
// and demo-source.
func TestReference(t *testing.T) {
	t.Parallel()
	s := newSite(t, "docs/reference.md")
	for _, name := range importing {
		delete(s.steps, name)
	}
	s.topics()
	s.start()
	s.story()
	s.past()
	s.letters()
	s.operates()
	s.local()
	s.snapshots()
	s.conforms()
	s.verifies()
	s.stop()
	s.stopped()
	s.start()
	s.erases()
	s.stop()
	s.reshards()
	s.allRun()
}

// topics creates the topics, one of which exists already, and then checks one with a wrong
// retention.
func (s *site) topics() {
	s.t.Helper()
	s.does("tidemark topics create")
	if _, err := s.admin().DeleteTopics(s.t.Context(), "chat.messages", "chat.reads", "chat.deliveries", "tidemark.unread", "tidemark.channels", "tidemark.receipts"); err != nil {
		s.t.Fatal(err)
	}
	s.runs("topics create", 1, transcript.Masked)
	retention := func(ms string) {
		if _, err := s.admin().AlterTopicConfigs(s.t.Context(), []kadm.AlterConfig{{Name: "retention.ms", Value: &ms}}, "chat.reads"); err != nil {
			s.t.Fatal(err)
		}
	}
	retention("604800000")
	s.runs("topics check", 1, transcript.Masked)
	retention("-1")
	if out := s.does("tidemark topics check"); out != "all 7 topics are as they should be\n" {
		s.t.Errorf("it prints %s", out)
	}
}

// story writes the events in the channel of the page, and asks about them.
func (s *site) story() {
	s.t.Helper()
	s.emit(`{"topic":"chat.messages","event":{"channel_id":"general","members_joined":{"user_ids":["ann","bob"]}}}`,
		message("m1", "bob", "", "morning"), message("m2", "bob", "", "lunch?"), message("m3", "ann", "", "when?"), message("r1", "bob", `,"thread_id":"m3"`, "at 12?"))
	time.Sleep(5 * time.Millisecond) // records have milliseconds
	before := time.Now()
	time.Sleep(5 * time.Millisecond)
	if err := os.WriteFile(filepath.Join(s.Dir, "events.ndjson"), []byte(message("m4", "bob", "", "noon")), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.runs("emit", 1, transcript.Masked)
	s.emit(delivery("queued"), delivery("delivered"))
	time.Sleep(5 * time.Millisecond)
	s.moments(before, time.Now())

	s.runs("query unread", 1, transcript.Masked)
	s.runs("query inbox", 1, transcript.Masked)
	s.runs("query explain", 1, transcript.Masked)
	s.runs("query receipts", 1, transcript.Masked)
	s.runs("inspect topic", 1, transcript.Masked)
}

// moments replaces the page's times by times of this test.
func (s *site) moments(before, after time.Time) {
	for name, steps := range s.steps {
		for i, step := range steps {
			for page, at := range map[string]time.Time{"'2026-11-20 10:30'": before, "'2026-11-20 10:32'": after} {
				step.Command = strings.ReplaceAll(step.Command, page, at.UTC().Format("2006-01-02T15:04:05.000Z"))
			}
			s.steps[name][i] = step
		}
	}
}

// past asks about moments, and then continues in the thread of m4.
func (s *site) past() {
	s.t.Helper()
	again := `{"topic":"chat.reads","event":{"channel_id":"general","user_id":"bob","read_up_to":{"message_id":"m4"}}}`
	s.emit(again, again, again) // the page names the third record of reads
	s.runs("As of the past", 3, transcript.Masked)
	s.runs("diff", 1, transcript.Masked)
	s.emit(`{"topic":"chat.reads","event":{"channel_id":"general","user_id":"ann","read_up_to":{"message_id":"r1","thread_id":"m3"}}}`,
		message("r2", "bob", `,"thread_id":"m4"`, "or one"), message("m5", "ann", `,"thread_id":"m4"`, "noon"),
		message("m6", "bob", `,"thread_id":"m4","mentions":["ann"]`, "@ann ok"), message("m7", "bob", `,"thread_id":"m4"`, "see you"))
	s.runs("query threads", 1, transcript.Masked)
}

// letters writes a record that is no event, and twelve into the wrong partition.
func (s *site) letters() {
	s.t.Helper()
	cl := testkit.Client(s.t, []string{s.kafka}, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	write := func(partition int32, value string) {
		r := &kgo.Record{Topic: "chat.reads", Partition: partition, Key: []byte("general"), Value: []byte(value)}
		if err := cl.ProduceSync(s.t.Context(), r).FirstErr(); err != nil {
			s.t.Fatal(err)
		}
	}
	listed := func(n string) {
		testkit.Await(s.t, n, func() bool {
			out, err := s.Run(s.t, "tidemark deadletters list")
			return err == nil && strings.Contains(out, n)
		})
	}
	write(3, "not an event")
	listed("1 dead letter")
	s.runs("deadletters list", 1, transcript.Numbered)
	for range 12 {
		write(0, `{"channel_id":"general","user_id":"ann","read_up_to":{"message_id":"m3"}}`)
	}
	listed("13 dead letters")
	s.runs("deadletters replay", 1, transcript.Masked)
}

var (
	version = regexp.MustCompile(`(v[^ ,]+( \([0-9a-f]+(\+dirty)?\))?|devel), go[0-9.]+, [a-z]+/[a-z0-9]+\n$`)
	cluster = regexp.MustCompile(`(?m)^cluster .*$`)
	module  = regexp.MustCompile(`@v[0-9.]+`)
)

// operates changes the running node.
func (s *site) operates() {
	s.t.Helper()
	s.runs("log-level", 3, transcript.Masked)
}

// local runs the commands that need no node, and the contexts.
func (s *site) local() {
	s.t.Helper()
	s.runs("explain-code", 1, transcript.Masked)
	s.runs("completion", 1, transcript.Masked)
	s.runs("help", 1, transcript.Masked)
	s.runs("version", 1, func(text string) string { return version.ReplaceAllString(text, "VERSION") })
	s.runs("token", 3, transcript.Masked)
	for _, step := range commands(s.t, "docs/security.md")["What is it made of?"] {
		s.step(step, func(text string) string { return module.ReplaceAllString(text, "@VERSION") })
	}
	for _, name := range []string{"ann", "backups"} {
		if token, err := os.ReadFile(filepath.Join(s.Dir, name+".token")); err != nil || strings.Count(string(token), ".") != 2 {
			s.t.Errorf("the token of %s is %q, %v", name, token, err)
		}
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "prod.token"), []byte("a.b.c"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.does("tidemark context add dev --addr http://127.0.0.1:8080")
	s.runs("context add", 1, transcript.Masked)
	unread := s.next("context add")
	if out, err := s.Run(s.t, "unset TIDEMARK_ADDR; "+unread.Command); err == nil || !strings.Contains(out, "tidemark.example.com") {
		s.t.Errorf("the context prod is not used: %s", out)
	}
	s.runs("context list", 1, transcript.Masked)
}

// snapshots takes two, and looks at them.
func (s *site) snapshots() {
	s.t.Helper()
	// Before the first cut of a partition there is nothing to copy.
	testkit.Await(s.t, "a snapshot of partition 3", func() bool {
		out, err := s.Run(s.t, "tidemark snapshot create --node http://127.0.0.1:8080; tidemark snapshot list --snapshots s3://backups/tidemark --partition 3")
		return err == nil && strings.Contains(out, "current")
	})
	s.emit(message("m8", "bob", "", "back"))
	s.runs("snapshot create", 1, transcript.Numbered)
	s.runs("snapshot list", 1, transcript.Numbered)
	s.runs("inspect snapshot", 1, transcript.Numbered)
}

// conforms plays one story instead of all; cmd/tidemark.TestConformance plays all.
func (s *site) conforms() {
	s.t.Helper()
	all := s.next("conformance")
	all.Command = strings.TrimSpace(all.Command) + " --story museum-16"
	s.step(all, transcript.Masked)
	some := s.next("conformance")
	some.Command = strings.ReplaceAll(some.Command, "'seed/*'", "'seed/read-on-*'")
	s.step(some, transcript.Masked)
	s.runs("conformance", 1, transcript.Masked)
}

// verifies finds no difference, and then a planted one in Redis.
func (s *site) verifies() {
	s.t.Helper()
	verify := s.next("verify")
	if out := s.does(verify.Command); !strings.Contains(out, "no difference") {
		s.t.Errorf("%s prints\n%s", verify.Command, out)
	}
	rdb := redis.NewClient(&redis.Options{Addr: s.redis})
	defer rdb.Close()
	value, err := rdb.HGet(s.t.Context(), "inbox:bob", "general").Result()
	if err != nil {
		s.t.Fatal(err)
	}
	set := func(value string) {
		if err := rdb.HSet(s.t.Context(), "inbox:bob", "general", value).Err(); err != nil {
			s.t.Fatal(err)
		}
	}
	set(strings.Replace(value, `"unread":0`, `"unread":7`, 1))
	out, _ := s.Run(s.t, verify.Command)
	set(value)
	page, err := os.ReadFile("../../../docs/reference.md")
	if err != nil {
		s.t.Fatal(err)
	}
	shown := regexp.MustCompile(`(?m)^redis, partition .*$`).FindString(string(page))
	found := regexp.MustCompile(`(?m)^redis, partition .*$`).FindString(out)
	if shown == "" || strings.Replace(found, "partition 3", "partition 1", 1) != shown {
		s.t.Errorf("the page shows %q, and verify prints\n%s", shown, out)
	}
}

// erases answers the page's question by --yes.
func (s *site) erases() {
	s.t.Helper()
	erase := s.next("erase-user")
	erase.Command = strings.TrimSpace(erase.Command) + " --yes"
	_, erase.Prints, _ = strings.Cut(erase.Prints, "\n")
	s.step(erase, transcript.Numbered)
}

// stopped runs the commands that need the directory of a stopped node.
func (s *site) stopped() {
	s.t.Helper()
	s.runs("inspect store", 2, func(text string) string {
		return transcript.Numbered(cluster.ReplaceAllString(text, "cluster ID"))
	})
	s.runs("snapshot create", 1, transcript.Numbered)
	s.runs("verify", 1, transcript.Masked)
	s.runs("replay", 1, transcript.Numbered)
	swap := s.next("replay")
	command, comment, _ := strings.Cut(swap.Command, "#")
	swap.Command = command + "--yes #" + comment
	s.step(swap, transcript.Numbered)
}

// reshards into 8 partitions; the page has 128.
func (s *site) reshards() {
	s.t.Helper()
	reshard := s.next("reshard")
	reshard.Command = strings.Replace(reshard.Command, "--partitions 128", "--partitions 8", 1)
	s.step(reshard, transcript.Masked)
}
