package product

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/source"
)

// line formats an event.
func line(e *importer.Event) string {
	kinds := map[importer.Kind]string{
		importer.KindChannel: "channel", importer.KindMember: "member", importer.KindPost: "post", importer.KindChannelDeleted: "ended",
		importer.KindPointer: "pointer", importer.KindFollow: "follow", importer.KindUnfollow: "unfollow", importer.KindMute: "mute", importer.KindSingle: "single",
	}
	b := kinds[e.Kind] + " " + e.Channel
	if e.User != "" {
		b += " " + e.User
	}
	for _, f := range []struct{ name, text string }{{"id", e.ID}, {"thread", e.Thread}, {"at", clock(e.At)}, {"until", clock(e.Until)}, {"text", e.Text}, {"mentions", strings.Join(e.Mentions, ",")}} {
		if f.text != "" {
			b += " " + f.name + " " + f.text
		}
	}
	if e.Seq > 0 {
		b += fmt.Sprintf(" seq %d", e.Seq)
	}
	for _, f := range []struct {
		name string
		is   bool
	}{{"all", e.MentionAll}, {"silent", e.Silent}, {"broadcast", e.Broadcast}, {"direct", e.Direct}, {"private", e.Private}, {"before", e.Before}, {"threads", e.Threads}, {"quiet", e.Quiet}} {
		if f.is {
			b += " " + f.name
		}
	}
	return b
}

func clock(millis int64) string {
	if millis == 0 {
		return ""
	}
	return time.UnixMilli(millis).UTC().Format(time.RFC3339Nano)
}

// folder makes a folder of files.
func folder(t *testing.T, files map[string]string) *source.Folder {
	t.Helper()
	f, err := source.OpenFolder(folderAt(t, files))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// folderAt makes a folder of files, and returns its path.
func folderAt(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The same rows as CSV and as NDJSON, in the folder or in one below it, become the same events.
func TestFoldersOfFiles(t *testing.T) {
	csv := map[string]string{
		"channels.csv":     "channel_id,direct\nc1,\nd1,true\n",
		"members.csv":      "channel_id,user_id,joined_at,left_at\nc1,ann,1700000000000,\nc1,bob,1700000000,2024-01-01\n",
		"csv/messages.csv": "channel_id,message_id,sender_id,posted_at,thread_id,body,silent,deleted_at,mentions,mention_all\nc1,m1,bob,1700000001500,,\"hello, ann\",,,\"ann,cem\",t\nc1,m2,ann,1700000002,m1,,1,2023-11-14T22:13:23Z,,\n",
		"pointers.csv":     "channel_id,user_id,seq,read_at\nc1,ann,1,1700000003\n",
		"mutes.csv":        "channel_id,user_id,muted_at\nc1,bob,\n",
	}
	ndjson := map[string]string{
		"channels.ndjson":        `{"channel_id":"c1","direct":null}` + "\n" + `{"channel_id":"d1","direct":true}`,
		"ndjson/members.ndjson":  `{"channel_id":"c1","user_id":"ann","joined_at":1700000000000}` + "\n\n" + `{"channel_id":"c1","user_id":"bob","joined_at":1700000000,"left_at":"2024-01-01"}`,
		"ndjson/messages.ndjson": `{"channel_id":"c1","message_id":"m1","sender_id":"bob","posted_at":1700000001500,"body":"hello, ann","mentions":["ann","cem"],"mention_all":true}` + "\n" + `{"channel_id":"c1","message_id":"m2","sender_id":"ann","posted_at":1700000002,"thread_id":"m1","silent":true,"deleted_at":"2023-11-14T22:13:23Z"}`,
		"pointers.ndjson":        `{"channel_id":"c1","user_id":"ann","seq":1,"read_at":1700000003}`,
		"mutes.ndjson":           `{"channel_id":"c1","user_id":"bob"}`,
	}
	want := []string{
		"channel c1", "channel d1 direct",
		"member c1 ann at 2023-11-14T22:13:20Z", "member c1 bob at 2023-11-14T22:13:20Z until 2024-01-01T00:00:00Z",
		"pointer c1 ann until 2023-11-14T22:13:23Z seq 1", "mute c1 bob",
		"post c1 bob id m1 at 2023-11-14T22:13:21.5Z text hello, ann mentions ann,cem all",
		"post c1 ann id m2 thread m1 at 2023-11-14T22:13:22Z until 2023-11-14T22:13:23Z silent",
	}
	for name, files := range map[string]map[string]string{"csv": csv, "ndjson": ndjson} {
		got, problems, err := events(t, &Table{Source: folder(t, files)})
		if err != nil || len(problems) > 0 || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %+v\n%s", name, err, problems, strings.Join(got, "\n"))
		}
	}
}

// Malformed fields count as missing, and are reported with their rows.
func TestBadFields(t *testing.T) {
	f := folder(t, map[string]string{
		"messages.csv": "channel_id,message_id,sender_id,posted_at,silent\nc1,m1,bob,noon,maybe\n",
		"pointers.csv": "channel_id,user_id,seq\nc1,ann,-1\n",
	})
	got, problems, err := events(t, &Table{Source: f})
	if err != nil || !slices.Equal(got, []string{"pointer c1 ann", "post c1 bob id m1"}) || len(problems) != 3 {
		t.Fatalf("%v, %v, %+v", err, got, problems)
	}
	for _, p := range problems {
		if p.Count != 1 || !strings.Contains(p.First[0], ":1 ") {
			t.Errorf("%+v", p)
		}
	}
}

// A missing folder or a broken file ends the import, and the error names the place.
func TestBadFolders(t *testing.T) {
	if _, err := source.OpenFolder("nowhere"); err == nil || !strings.Contains(err.Error(), "postgres:// address") {
		t.Errorf("nowhere: %v", err)
	}
	if _, err := source.OpenFolder("table.go"); err == nil || !strings.Contains(err.Error(), "is a file") {
		t.Errorf("a file: %v", err)
	}
	for want, files := range map[string]map[string]string{
		"the source has no messages":                 {"channels.csv": "channel_id\n"},
		"messages has no column sender_id: it needs": {"messages.csv": "channel_id,message_id\nc,m\n"},
		"messages.csv: line 3 has 1 fields":          {"messages.csv": "channel_id,message_id,sender_id,posted_at\nc,m,u,1\nc\n"},
		"line 2 is not a JSON object":                {"messages.ndjson": `{"channel_id":"c","message_id":"m","sender_id":"u","posted_at":1}` + "\n[]"},
	} {
		if _, _, err := events(t, &Table{Source: folder(t, files)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

func TestParseMapping(t *testing.T) {
	for text, want := range map[string]string{
		"messages: SELECT 1":                "",
		"channels: SELECT 1":                "no SQL for messages",
		"messages: SELECT 1\nheal: UPDATE":  "",
		"":                                  "no SQL for messages",
		"messages: SELECT 1\nrooms: SELECT": `there is no table "rooms"`,
		"- messages":                        "with the SQL of the messages below it",
	} {
		if _, err := ParseMapping("m.yml", []byte(text)); (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestTimes(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "1700000000": "2023-11-14T22:13:20Z", "1700000000.25": "2023-11-14T22:13:20.25Z", "1700000000123": "2023-11-14T22:13:20.123Z",
		"1700000000123456": "2023-11-14T22:13:20.123Z", "1700000000123456789": "2023-11-14T22:13:20.123Z",
		"2023-11-14 22:13:20+00": "2023-11-14T22:13:20Z", "2023-11-14 23:43:20.5+01:30": "2023-11-14T22:13:20.5Z",
		"2023-11-14T22:13:20Z": "2023-11-14T22:13:20Z", "2023-11-14 22:13:20": "2023-11-14T22:13:20Z", "2023-11-14": "2023-11-14T00:00:00Z",
	} {
		if got, ok := at(text); !ok || clock(got) != want {
			t.Errorf("%q is %s, %v", text, clock(got), ok)
		}
	}
	for _, text := range []string{"noon", "1e300", "2023-13-01"} {
		if _, ok := at(text); ok {
			t.Errorf("%q is a time", text)
		}
	}
}
