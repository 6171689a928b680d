package earlier

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/events"
)

// partitions is the number of partitions of each topic.
const partitions = 2

// record is a record of a topic, in JSON.
type record struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Key       []byte `json:"key"`
	Value     []byte `json:"value"`
	Timestamp int64  `json:"timestamp"` // Unix milliseconds
}

// redisKey is the value of a key of Redis, in JSON.
type redisKey struct {
	Hash   map[string]string `json:"hash,omitempty"`
	String string            `json:"string,omitempty"`
	TTL    int64             `json:"ttl,omitempty"` // seconds; 0 for none
}

// fixture is the data of one build.
type fixture struct{ dir string }

// each runs a test on the data of every build.
func each(t *testing.T, body func(t *testing.T, f fixture)) {
	t.Helper()
	dirs, err := filepath.Glob("testdata/*/answers.json")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no build's output in testdata: %v", err)
	}
	for _, name := range dirs {
		dir := filepath.Dir(name)
		t.Run(filepath.Base(dir), func(t *testing.T) { body(t, fixture{dir}) })
	}
}

// story returns the file of its story: story-X.txt if its directory is called X-COMMIT, otherwise
// story.txt.
func (f fixture) story() string {
	if sort, _, named := strings.Cut(filepath.Base(f.dir), "-"); named {
		return "story-" + sort + ".txt"
	}
	return "story.txt"
}

// json decodes one of its files into v.
func (f fixture) json(t *testing.T, name string, v any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, name))
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// unpacked returns a new directory with the content of an archive.
func (f fixture) unpacked(t *testing.T, name string) string {
	t.Helper()
	r, err := zip.OpenReader(filepath.Join(f.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	dir := filepath.Join(t.TempDir(), "unpacked")
	if err := os.CopyFS(dir, r); err != nil {
		t.Fatal(err)
	}
	return dir
}

// compare compares the answers of stores with the recorded ones.
func (f fixture) compare(t *testing.T, who string, is []answers) {
	t.Helper()
	var want []answers
	f.json(t, "answers.json", &want)
	a, b := lines(t, want), lines(t, is)
	if len(a) != len(b) {
		t.Errorf("%s gives %d lines of answers, %s gave %d", who, len(b), filepath.Base(f.dir), len(a))
	}
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Fatalf("%s answers, in line %d of answers.json\n%s\nand %s answered\n%s", who, i+1, b[i], filepath.Base(f.dir), a[i])
		}
	}
}

// lines returns v in JSON. An empty list or map equals a missing one.
func lines(t *testing.T, v any) []string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.NewReplacer("[]", "null", "{}", "null").Replace(string(text)), "\n")
}

func writeJSON(t *testing.T, name string, v any) {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func writeZip(t *testing.T, name, dir string) {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	if err := w.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// outputs are the topics that a node produces to.
var outputs = []string{events.TopicUnread, events.TopicChannels, events.TopicReceipts}
