package product

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/source"
	"github.com/tidemark/tidemark/internal/test/chats"
)

// dumped makes a dump of documents in JSON.
func dumped(t *testing.T, collections map[string][]string) *source.Dump {
	t.Helper()
	dump := map[string][]bson.D{}
	for name, documents := range collections {
		dump[name] = nil
		for _, text := range documents {
			var d bson.D
			if err := bson.UnmarshalExtJSON([]byte(text), false, &d); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			dump[name] = append(dump[name], d)
		}
	}
	dir := t.TempDir()
	if err := chats.WriteDump(dir, dump); err != nil {
		t.Fatal(err)
	}
	from, err := source.OpenDump(dir)
	if err != nil {
		t.Fatal(err)
	}
	return from
}

// rocket returns a small server with all kinds of messages and pointers.
func rocket() map[string][]string {
	at := func(second string) string { return `{"$date":"2026-01-01T00:00:` + second + `Z"}` }
	message := func(id, user, second, more string) string {
		return `{"_id":"` + id + `","rid":"r1","u":{"_id":"` + user + `","username":"x"},"ts":` + at(second) + `,"msg":"text"` + more + `}`
	}
	return map[string][]string{
		"rocketchat_room": {`{"_id":"r1","t":"c"}`, `{"_id":"d1","t":"d"}`},
		"rocketchat_subscription": {
			`{"rid":"r1","u":{"_id":"ann"},"ts":` + at("01") + `,"ls":` + at("09") + `,"alert":false,"unread":{"$numberDouble":"0"},"userMentions":0,"groupMentions":0,"tunread":["m1"],"hideUnreadStatus":true}`,
			`{"rid":"r1","u":{"_id":"bob"},"ts":` + at("01") + `,"ls":` + at("03") + `,"alert":true,"unread":2,"userMentions":1,"groupMentions":0,"tunread":[]}`,
			`{"rid":"r1","u":{"_id":"cem"},"ts":` + at("01") + `,"alert":true,"unread":-1,"userMentions":0,"groupMentions":0}`,
			`{"rid":"d1","u":{"_id":"ann"},"ts":` + at("01") + `,"ls":` + at("02") + `,"alert":true,"unread":{"$numberLong":"4"},"userMentions":0,"groupMentions":0}`,
		},
		"rocketchat_message": {
			message("m1", "ann", "03", `,"replies":["ann","cem"],"tcount":2,"tlm":`+at("05")),
			message("m2", "bob", "04", `,"tmid":"m1","mentions":[{"_id":"all"},{"_id":"cem","type":"user"},{"_id":"t1","type":"team"}]`),
			message("m3", "cem", "05", `,"tmid":"m1","tshow":true`),
			message("m4", "cem", "06", `,"t":"uj"`),
			message("m5", "cem", "07", `,"t":"rm","editedAt":`+at("08")),
			message("m6", "cem", "07", `,"_hidden":true,"parent":"m1"`),
			message("m7", "cem", "07", `,"_hidden":true`),
			message("m8", "cem", "08", `,"t":"rm","tcount":1,"replies":[],"tlm":`+at("08")),
		},
		"rocketchat_settings": {`{"_id":"Unread_Count","value":"all_messages"}`, `{"_id":"Unread_Count_DM","value":"user_and_group_mentions_only"}`},
	}
}

func TestRocketChat(t *testing.T) {
	const of = " at 2026-01-01T00:00:"
	want := []string{
		"channel r1", "channel d1 direct", "member r1 ann" + of + "01Z", "member r1 bob" + of + "01Z", "member r1 cem" + of + "01Z", "member d1 ann" + of + "01Z",
		"mute r1 ann", "pointer r1 ann" + of + "09Z until 2026-01-01T00:00:09Z",
		"post r1 ann id m1" + of + "03Z text text", "post r1 bob id m2 thread m1" + of + "04Z text text mentions cem all",
		"post r1 cem id m3 thread m1" + of + "05Z text text broadcast quiet", "post r1 cem id m4" + of + "06Z text text silent",
		"post r1 cem id m5" + of + "07Z until 2026-01-01T00:00:08Z text text", "post r1 cem id m7" + of + "07Z until 2026-01-01T00:00:07Z text text",
		"post r1 cem id m8" + of + "08Z text text silent",
		"pointer d1 ann" + of + "02Z until 2026-01-01T00:00:02Z", "pointer r1 bob" + of + "02.999Z until 2026-01-01T00:00:03Z quiet",
		"follow r1 ann thread m1" + of + "04.999Z", "pointer r1 ann thread m1" + of + "04.999Z until 2026-01-01T00:00:04.999Z",
		"follow r1 cem thread m1" + of + "05Z", "pointer r1 cem thread m1" + of + "05Z until 2026-01-01T00:00:05Z", "unfollow r1 bob thread m1" + of + "05Z",
		"unfollow r1 cem thread m8" + of + "08Z",
	}
	got, problems, err := events(t, &RocketChat{Source: dumped(t, rocket())})
	if err != nil || len(problems) > 0 || !slices.Equal(got, want) {
		t.Errorf("%v, %+v\n%s", err, problems, strings.Join(got, "\n"))
	}
	if got, problems, err := numbers(t, &RocketChat{Source: dumped(t, rocket())}); err != nil || len(problems) > 0 || got != "ann d1: 4 0, ann r1: 0 0, bob r1: 2 1, cem r1: -1 0" {
		t.Errorf("%q, %+v, %v", got, problems, err)
	}
	if got, _, err := numbers(t, &RocketChat{Source: dumped(t, rocket())}, "bob", "dee"); err != nil || got != "bob r1: 2 1" {
		t.Errorf("of some: %q, %v", got, err)
	}
}

// A setting for each kind of room, with a default, says which numbers count only mentions.
func TestRocketChatSettings(t *testing.T) {
	for room, c := range map[string]struct {
		kind, setting, value string
		only                 bool
	}{
		"by default": {"c", "", "", true}, "all": {"p", "Unread_Count", "all_messages", false}, "direct by default": {"d", "", "", false},
		"direct": {"d", "Unread_Count_DM", "mentions_only", true}, "livechat": {"l", "Unread_Count_Omni", "user_mentions_only", true},
	} {
		c2 := RocketChat{Source: dumped(t, map[string][]string{
			"rocketchat_room": {`{"_id":"r","t":"` + c.kind + `"}`}, "rocketchat_subscription": {`{"rid":"r","u":{"_id":"ann"},"unread":1}`},
			"rocketchat_settings": {`{"_id":"` + c.setting + `","value":"` + c.value + `"}`},
		})}
		err := c2.Counts(t.Context(), nil, &importer.Problems{}, func(n importer.Count) error {
			if n.OnlyMentions != c.only {
				t.Errorf("%s: %+v", room, n)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// A folder that is no dump, or a damaged one, is refused with the reason.
func TestRocketChatOfAnotherShape(t *testing.T) {
	for name := range rocket() {
		without := rocket()
		delete(without, name)
		_, _, err := events(t, &RocketChat{Source: dumped(t, without)})
		if optional := name == "rocketchat_settings"; optional != (err == nil) || !optional && !strings.Contains(err.Error(), "no table "+name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
	if _, _, err := numbers(t, &RocketChat{Source: dumped(t, nil)}); err == nil || !strings.Contains(err.Error(), "no table rocketchat_subscription") {
		t.Errorf("an empty folder: %v", err)
	}
	good, err := bson.Marshal(bson.D{{Key: "_id", Value: "r1"}, {Key: "t", Value: "c"}})
	if err != nil {
		t.Fatal(err)
	}
	bad := slices.Clone(good)
	bad[4] = 0x7e // not a type of a value
	for want, b := range map[string][]byte{
		"document 2 is damaged: unexpected EOF":  append(slices.Clone(good), good[:9]...),
		"document 2 is damaged: its length is 3": append(slices.Clone(good), 3, 0, 0, 0),
		"document 1 is damaged":                  bad,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "rocketchat_room.bson"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		from, err := source.OpenDump(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := events(t, &RocketChat{Source: from}); err == nil || !strings.Contains(err.Error(), "rocketchat_room.bson: "+want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

// Wrong documents are counted, and do not end an import.
func TestBadRocketChat(t *testing.T) {
	files := rocket()
	long := strings.Repeat("x", 300)
	files["rocketchat_message"] = append(files["rocketchat_message"],
		`{"_id":"b1","rid":"r1","u":{"_id":"ann"},"msg":"no time"}`, `{"_id":"b2","rid":"r1","ts":{"$date":"2100-01-01T00:00:00Z"},"u":{"_id":"ann"}}`,
		`{"_id":"b3","rid":"r1","ts":{"$date":"1970-01-01T00:00:03Z"},"u":{"_id":"ann"}}`, `{"_id":"b4","rid":"r1","ts":{"$date":{"$numberLong":"400000000000000"}},"u":null}`,
		`{"_id":"`+long+`","rid":"r1","ts":{"$date":"2026-01-01T00:00:00Z"},"u":{"_id":"ann"}}`, `{"_id":"b6","rid":null,"ts":{"$date":"2026-01-01T00:00:00Z"}}`,
		`{"_id":"b7","rid":"r1","ts":{"$date":"2026-01-01T00:00:20Z"},"u":{"_id":"ann"},"mentions":{"_id":"bob"}}`,
		`{"_id":{"$oid":"65a000000000000000000001"},"rid":"r1","ts":{"$date":"2026-01-01T00:00:21Z"},"u":{"_id":"bob"},"tmid":{"$numberInt":"7"}}`)
	files["rocketchat_subscription"] = append(files["rocketchat_subscription"], `{"rid":"r1","u":{"_id":null}}`, `{"rid":"r1","u":{"_id":"dee"},"unread":"many","ls":"never","alert":"perhaps"}`)
	m, sum := modelOf(t, importer.Config{}, &RocketChat{Source: dumped(t, files)})
	got := map[string]int64{}
	for _, p := range sum.Problems {
		got[p.Reason] = p.Count
	}
	for reason, n := range map[string]int64{
		"a message without a time": 1, "a message without a sender: written as of unknown-sender": 1, "no channel": 1, "no user": 1,
		"a time ahead of the clock: taken as the time of the import":               2,
		"message is not an id: 1 to 255 bytes of UTF-8 without control characters": 1,
		"mentions are no list of users: taken as none":                             1,
		"ls is no time: taken as none":                                             1,
	} {
		if got[reason] != n {
			t.Errorf("%d times %q: %+v", n, reason, sum.Problems)
		}
	}
	same(t, m, "dee", "r1", chats.Want{Member: true, Unread: 6})
	if got, problems, err := numbers(t, &RocketChat{Source: dumped(t, files)}, "dee"); err != nil || got != "" || len(problems) != 1 {
		t.Errorf("%q, %+v, %v", got, problems, err)
	}
}

// After any actions on a server, the numbers are those of the messages after the pointers.
func TestRocketChatStories(t *testing.T) {
	for seed := range uint64(16) {
		c := chats.PlayRocketChat(rand.New(rand.NewPCG(seed, 42)), longAgo(), 250)
		dir := t.TempDir()
		if err := c.Write(dir); err != nil {
			t.Fatal(err)
		}
		from, err := source.OpenDump(dir)
		if err != nil {
			t.Fatal(err)
		}
		conf := importer.Config{}
		if seed%4 == 3 {
			conf.Since = 55 * 24 * time.Hour
		}
		m, sum := modelOf(t, conf, &RocketChat{Source: from})
		if len(sum.Problems) > 0 {
			t.Errorf("%+v", sum.Problems)
		}
		for _, room := range c.Rooms {
			for _, u := range c.Users {
				want := c.Want(u, room)
				if v, _ := m.View(u, room); conf.Since > 0 && want.Member {
					want.Mentions = v.Mentions // mentions in older messages are unknown
				}
				same(t, m, u, room, want)
				for _, root := range c.Threads(room) {
					v, _ := m.Thread(u, room, root)
					if follows, unread := c.WantThread(u, room, root); want.Member && (v.Following != follows || follows && v.Unread != unread) {
						t.Errorf("%s in the thread %s of %s: following %v, %d unread; want %v, %d", u, root, room, v.Following, v.Unread, follows, unread)
					}
				}
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
