package product

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/source"
	"github.com/tidemark/tidemark/internal/test/chats"
)

// arrays makes a folder of JSON arrays.
func arrays(t *testing.T, files map[string]string) *source.Arrays {
	t.Helper()
	dir := folderAt(t, files)
	a, err := source.OpenArrays(dir)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// slack returns a small export with a channel in which users joined, left and were removed, a
// direct channel, and all kinds of messages.
func slack() map[string]string {
	return map[string]string{
		"users.json":    `[{"id":"U1","name":"ann"},{"id":"U2","name":"bob"}]`,
		"channels.json": `[{"id":"C1","name":"general","created":1700000000,"members":["U1","U2"],"is_archived":true},{"id":"C2","name":"empty","created":1700000000,"members":[]}]`,
		"dms.json":      `[{"id":"D1","created":1700000000,"members":["U1","U2"]}]`,
		"general/2023-11-14.json": `[
{"type":"message","subtype":"channel_join","user":"U2","text":"<@U2> has joined the channel","ts":"1700000001.000100"},
{"type":"message","user":"U1","text":"hi <@U2|bob>, <@U1> &amp; <!here|here>: <https://example.org|look> in <#C2|empty>","ts":"1700000002.000100","thread_ts":"1700000002.000100","reply_count":2},
{"type":"message","user":"U3","text":"a reply","ts":"1700000003.000100","thread_ts":"1700000002.000100"},
{"type":"message","subtype":"thread_broadcast","user":"U2","text":"<!channel> too","ts":"1700000004.000100","thread_ts":"1700000002.000100"},
{"type":"message","subtype":"bot_message","bot_id":"B1","text":"deployed <!subteam^S1>","ts":"1700000005.000100"}]`,
		"general/2023-11-15.json": `[
{"type":"message","subtype":"message_deleted","hidden":true,"deleted_ts":"1700000005.000100","ts":"1700086400.000100"},
{"type":"message","subtype":"message_changed","hidden":true,"ts":"1700086401.000100"},
{"type":"message","subtype":"channel_leave","user":"U3","text":"left","ts":"1700086402.000100"},
{"type":"message","subtype":"tombstone","user":"USLACKBOT","text":"This message was deleted.","ts":"1700086403.000100"}]`,
		"D1/2023-11-14.json": `[{"type":"message","user":"U1","text":"psst","ts":"1700000009.000100"}]`,
	}
}

func TestSlack(t *testing.T) {
	want := []string{
		"channel C1", "channel C2", "channel D1 direct",
		"member C1 U1 at 2023-11-14T22:13:20Z", "pointer C1 U1 at 2023-11-15T22:13:23Z until 2023-11-15T22:13:23Z private threads",
		"member C1 U2 at 2023-11-14T22:13:21Z", "pointer C1 U2 at 2023-11-15T22:13:23Z until 2023-11-15T22:13:23Z private threads",
		"member C1 U3 at 2023-11-14T22:13:20Z until 2023-11-15T22:13:22Z",
		"post C1 U2 id 1700000001.000100 at 2023-11-14T22:13:21Z text @bob has joined the channel silent",
		"post C1 U1 id 1700000002.000100 at 2023-11-14T22:13:22Z text hi @bob, @ann & @here: look in #empty mentions U2 all",
		"post C1 U3 id 1700000003.000100 thread 1700000002.000100 at 2023-11-14T22:13:23Z text a reply",
		"post C1 U2 id 1700000004.000100 thread 1700000002.000100 at 2023-11-14T22:13:24Z text @channel too all broadcast",
		"post C1 B1 id 1700000005.000100 at 2023-11-14T22:13:25Z until 2023-11-15T22:13:20Z text deployed @subteam^S1",
		"post C1 U3 id 1700086402.000100 at 2023-11-15T22:13:22Z text left silent",
		"post C1 USLACKBOT id 1700086403.000100 at 2023-11-15T22:13:23Z text This message was deleted. silent",
		"member D1 U1 at 2023-11-14T22:13:20Z", "pointer D1 U1 at 2023-11-14T22:13:29Z until 2023-11-14T22:13:29Z private threads",
		"member D1 U2 at 2023-11-14T22:13:20Z", "pointer D1 U2 at 2023-11-14T22:13:29Z until 2023-11-14T22:13:29Z private threads",
		"post D1 U1 id 1700000009.000100 at 2023-11-14T22:13:29Z text psst",
	}
	got, problems, err := events(t, &Slack{Source: arrays(t, slack())})
	if err != nil || len(problems) > 0 || !slices.Equal(got, want) {
		t.Errorf("%v, %+v\n%s", err, problems, strings.Join(got, "\n"))
	}
}

// A folder that is no export, or a damaged one, is refused with the file's name.
func TestSlackOfAnotherShape(t *testing.T) {
	change := func(name, text string) map[string]string {
		files := slack()
		if files[name] = text; text == "" {
			delete(files, name)
		}
		return files
	}
	empty := slack()
	for name := range empty {
		if strings.Contains(name, "/") {
			delete(empty, name)
		}
	}
	for want, files := range map[string]map[string]string{
		"no users.json: is it":           change("users.json", ""),
		"no channels.json: is it":        change("channels.json", ""),
		"none of the folders":            empty,
		"users has no column id":         change("users.json", `[{"name":"ann"}]`),
		"channels.json is not a JSON":    change("channels.json", `{"id":"C1"}`),
		"element 2 is not a JSON object": change("D1/2023-11-14.json", `[{"ts":"1700000009.000100"},7]`),
		"ends within its array":          change("D1/2023-11-14.json", `[{"ts":"1700000009.000100"}`),
	} {
		if _, _, err := events(t, &Slack{Source: arrays(t, files)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	if _, err := source.OpenArrays("slack.go"); err == nil || !strings.Contains(err.Error(), "is a file") {
		t.Errorf("a file: %v", err)
	}
	if _, _, err := numbers(t, &Slack{}); err == nil || !strings.Contains(err.Error(), "nothing to compare with") {
		t.Errorf("numbers: %v", err)
	}
}

// Wrong rows are counted, and do not end an import: missing fields, contradictions, wrong clocks,
// long ids, folders outside of the export.
func TestBadSlack(t *testing.T) {
	files := slack()
	files["channels.json"] = `[{"id":"C1","name":"general","created":"long ago","members":["U1","U2","U3"]},{"id":"C3","name":"../elsewhere","members":"U1"},{"id":"C4","members":[]},
		{"id":"` + strings.Repeat("C", 300) + `","name":"general"}]`
	files["general/2023-11-16.json"] = `[{"user":"U1","text":"no time"},{"user":"U1","ts":"soon"},{"user":"U1","ts":"4102444800.000100","text":"from 2100"},{"user":"U1","ts":"3.000100","text":"from 1970"},
		{"ts":"1700090000.000100","text":"of nobody"},{"subtype":"channel_join","user":"U9","ts":"1700090001.000100"}]`
	m, sum := modelOf(t, importer.Config{}, &Slack{Source: arrays(t, files)})
	got := map[string]int64{}
	for _, p := range sum.Problems {
		got[p.Reason] = p.Count
	}
	for reason, n := range map[string]int64{
		"members are no list of ids: taken as none": 1, "a message without a sender: written as of unknown-sender": 1, "created is no time: taken as none": 1,
		"somebody is a member, and their last message about it says that they left: taken as joined again then": 1, "no message": 1, "a message without a time": 1,
		"somebody is no member any more, and no message says since when: taken as the end of the export": 3, // U9, and two in the channel with the long id
		"a time ahead of the clock: taken as the time of the import":                                     8, // the message, and the pointers and members at its time
		"channel is not an id: 1 to 255 bytes of UTF-8 without control characters":                       17,
	} {
		if got[reason] != n {
			t.Errorf("%d times %q: %+v", n, reason, sum.Problems)
		}
	}
	for _, user := range []string{"U1", "U2", "U3"} {
		same(t, m, user, "C1", chats.Want{Member: true})
	}
	if sum.Rows["messages"] == 0 {
		t.Errorf("%+v", sum.Rows)
	}
}

// After any actions in a workspace, the members at the end have read everything, including threads,
// and users who have written in a thread follow it. Only later messages count.
func TestSlackStories(t *testing.T) {
	for seed := range uint64(12) {
		s := chats.PlaySlack(rand.New(rand.NewPCG(seed, 41)), longAgo(), 250)
		dir := t.TempDir()
		if err := s.Write(dir); err != nil {
			t.Fatal(err)
		}
		from, err := source.OpenArrays(dir)
		if err != nil {
			t.Fatal(err)
		}
		var conf importer.Config
		if seed%3 == 1 {
			conf.Since = 55 * 24 * time.Hour // part of the story is older
		}
		if seed%3 == 2 {
			conf.Since = 45 * 24 * time.Hour // all of the story is older
		}
		m, sum := modelOf(t, conf, &Slack{Source: from})
		for _, p := range sum.Problems {
			if !strings.HasPrefix(p.Reason, "somebody is no member any more") {
				t.Errorf("%+v", p)
			}
		}
		for _, c := range s.Channels {
			for _, u := range s.Users {
				same(t, m, u, c, chats.Want{Member: s.Member(u, c)})
				for _, root := range s.Roots(c) {
					v, _ := m.Thread(u, c, root)
					if s.Member(u, c) && v.Following && v.Unread > 0 || s.Replied(u, c, root) && !v.Following {
						t.Errorf("%s in the thread %s of %s: following %v, %d unread", u, root, c, v.Following, v.Unread)
					}
				}
			}
		}
		if t.Failed() {
			t.Fatal(fmt.Sprint("seed ", seed))
		}
	}
}
