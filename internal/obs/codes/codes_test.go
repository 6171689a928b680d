package codes

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
)

func TestCodesAreUnique(t *testing.T) {
	form := regexp.MustCompile(`^TM[01]\d\d$`)
	seen := map[string]string{}
	for _, c := range All() {
		if !form.MatchString(c.ID) || seen[c.ID] != "" || c.Section == "" {
			t.Errorf("%+v", c)
		}
		seen[c.ID] = c.Section
		if c.Letter() != (len(c.parts) == 0) {
			t.Errorf("%s has the parts %q", c.ID, c.parts)
		}
		for _, part := range c.parts {
			if got := Of("x " + strings.ReplaceAll(part, "…", "/data/z: ") + " y"); got != c.ID {
				t.Errorf("%q has the code %s, want %s", part, got, c.ID)
			}
		}
		if again, ok := Find(strings.ToLower(c.ID)); !ok || again.ID != c.ID {
			t.Errorf("%s is not found", c.ID)
		}
	}
	if len(seen) < 40 {
		t.Errorf("%d codes", len(seen))
	}
	if _, ok := Find("TM999"); ok {
		t.Error("TM999 is found")
	}
}

// Codes that are in use keep their meaning: whoever knows one by heart, or compares it, goes on.
func TestCodesStay(t *testing.T) {
	for id, section := range map[string]string{
		"TM001": "No broker answers", "TM002": "A topic is missing", "TM010": "A store of another version", "TM021": "The store is in use",
	} {
		if c, _ := Find(id); c.Section != section {
			t.Errorf("%s means %q, it meant %q", id, c.Section, section)
		}
	}
}

func TestCodeOfASentence(t *testing.T) {
	for sentence, want := range map[string]string{
		"topic chat.reads: no such topic: create it with `tidemark topics create`":                                                      "A topic is missing",
		"the bucket has snapshots of another deployment: store x: belongs to Kafka cluster \"a\", but the brokers are of cluster \"b\"": "The bucket holds something else",
		"partition 0 live, 0 records behind": "",
		"":                                   "",
	} {
		c, _ := Find(Of(sentence))
		if c.Section != want {
			t.Errorf("%q is about %q, want %q", sentence, c.Section, want)
		}
		if marked := Marked(sentence); (want == "") != (marked == sentence) || want != "" && marked != sentence+" ["+c.ID+"]" {
			t.Errorf("%q", marked)
		}
	}
	if c, _ := Find(OfLetter("undecodable")); c.Section != "undecodable" || c.Chapter() != "Dead letters" {
		t.Errorf("%+v", c)
	}
	if OfLetter("no reason") != "" || OfLetter("A topic is missing") != "" {
		t.Error("another reason has a code")
	}
}

func TestLogLinesTellTheCode(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(Logger(slog.NewTextHandler(&b, nil))).With("role", "x").WithGroup("g")
	err := fmt.Errorf("partition 3: %w", errors.New("topic chat.reads: no such topic: create it with `tidemark topics create`"))
	for _, c := range []struct {
		write func()
		want  bool
	}{
		{func() { log.Error("stops", "partition", 3, "err", err) }, true},
		{func() { log.Warn("tried again", "err", err) }, true},
		{func() { log.Info("said", "err", err) }, false},
		{func() { log.Error("stops", "err", errors.New("something else")) }, false},
		{func() { log.Error("stops", "why", "no such topic: create it with `tidemark topics create`") }, false},
	} {
		b.Reset()
		c.write()
		if strings.Contains(b.String(), "code=TM002") != c.want || !strings.Contains(b.String(), "role=x") {
			t.Errorf("%s", b.String())
		}
	}
}
