package cache

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/cache/internal/entry"
	"github.com/tidemark/tidemark/cache/internal/packed"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/docs"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

var update = flag.Bool("update", false, "write testdata/vectors.json anew")

// vectorsFile is shared by all readers of Redis: package cache with JSON and with packed values,
// and the function tidemark_inbox. docs/redis.md names it for authors of other readers.
const vectorsFile = "testdata/vectors.json"

// vector has a user's values in Redis in both forms, and a reader's result.
type vector struct {
	Name     string `json:"name"`
	Now      int64  `json:"now"` // Unix milliseconds
	Keys     string `json:"redis_keys"`
	Listing  string `json:"thread_listing"`
	Updated  bool   `json:"channels_updated"`
	Inbox    []both `json:"inbox"`
	Threads  []both `json:"inbox_threads"`
	Channels []both `json:"channel_latest"`
	Answer   any    `json:"answer"`
}

// both is a value in both forms. Field is the field of the hash, or the id of the channel that the
// hash is about.
type both struct {
	Field  string            `json:"field"`
	JSON   string            `json:"json,omitempty"`
	Hash   map[string]string `json:"hash,omitempty"`
	Packed string            `json:"packed"` // hexadecimal
}

// fill fills an empty Redis with the values of v, in one of its forms.
func (v *vector) fill(t *testing.T, rdb *redis.Client, values string) {
	t.Helper()
	ctx := t.Context()
	f, err := Config{Brokers: []string{"none"}, Redis: rdb, Values: values, Keys: strings.Split(v.Keys, ",")}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	rdb.FlushDB(ctx)
	rdb.Set(ctx, epochKey, f.format.String()+"e", 0)
	rdb.Set(ctx, listingKey, v.Listing, 0)
	if v.Updated {
		rdb.Set(ctx, updatedKey, "1", 0)
	}
	raw := func(b both) string {
		if values == "json" {
			return b.JSON
		}
		text, err := hex.DecodeString(b.Packed)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, b := range v.Inbox {
		rdb.HSet(ctx, InboxKey("u:1"), b.Field, raw(b))
	}
	for _, b := range v.Threads {
		rdb.HSet(ctx, InboxThreadsKey("u:1"), b.Field, raw(b))
	}
	for _, b := range v.Channels {
		if values == "json" {
			rdb.HSet(ctx, ChannelLatestKey(b.Field), b.Hash)
		} else {
			rdb.Set(ctx, ChannelLatestKey(b.Field), raw(b), 0)
		}
	}
}

// Both readers get the same answer from the same values, in either form.
func TestVectors(t *testing.T) {
	rdb := redisClient(t, testkit.Redis(t).URL)
	LoadLibrary(t, rdb)
	list := []*vector{}
	if *update {
		list = vectorsToWrite(t)
	} else {
		text, err := os.ReadFile(vectorsFile)
		if err == nil {
			err = json.Unmarshal(text, &list)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(list) < 12 {
		t.Fatalf("%d vectors", len(list))
	}
	for _, v := range list {
		t.Run(v.Name, func(t *testing.T) {
			for _, values := range []string{"json", "packed"} {
				v.fill(t, rdb, values)
				view, err := NewReader(rdb).At(time.UnixMilli(v.Now)).View(t.Context(), "u:1")
				if err != nil {
					t.Fatal(err)
				}
				got := AnswerOf(t, view)
				if v.Answer == nil {
					v.Answer = got
				}
				differ(t, "the reader of "+values, got, v.Answer)
			}
			got, err := Called(t, rdb, "u:1", v.Now)
			if err != nil {
				t.Fatal(err)
			}
			differ(t, "the function", got, v.Answer)
		})
	}
	asShown(t, rdb, list)
	if *update {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", " ")
		if err := enc.Encode(list); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(vectorsFile, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func differ(t *testing.T, who string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		g, _ := json.Marshal(got)
		w, _ := json.Marshal(want)
		t.Errorf("%s:\n got %s\nwant %s", who, g, w)
	}
}

// vectorsToWrite returns the vectors without answers.
func vectorsToWrite(t *testing.T) (list []*vector) {
	for _, s := range vectorStories() {
		v := &vector{Name: s.name, Now: s.now, Keys: s.keys, Listing: s.listing, Updated: s.updated, Inbox: []both{}, Threads: []both{}, Channels: []both{}}
		if v.Now == 0 {
			v.Now = t0
		}
		if v.Keys == "" {
			v.Keys = "inbox,pointers,channels,threads"
		}
		if v.Listing == "" {
			v.Listing = listedMonth
		}
		for _, d := range s.deltas {
			b := both{Field: string(d.ChannelID), JSON: string(entry.AppendValue(nil, d)), Packed: hex.EncodeToString(packed.AppendValue(nil, d))}
			if len(d.ThreadID) > 0 {
				b.Field = ThreadField(string(d.ChannelID), string(d.ThreadID))
				v.Threads = append(v.Threads, b)
			} else {
				v.Inbox = append(v.Inbox, b)
			}
		}
		for _, r := range s.channels {
			var args commands
			args.Command("fields")
			entry.AppendHash(&args.Commands, r)
			hash := map[string]string{}
			for pair := args.List()[0][1:]; len(pair) > 0; pair = pair[2:] {
				hash[*pair[0].(*string)] = *pair[1].(*string)
			}
			v.Channels = append(v.Channels, both{Field: string(r.ChannelID), Hash: hash, Packed: hex.EncodeToString(packed.AppendChannel(nil, r))})
		}
		list = append(list, v)
	}
	return list
}

// story is a vector before it is encoded.
type story struct {
	name          string
	now           int64
	keys, listing string
	updated       bool
	deltas        []*events.UnreadDelta
	channels      []*events.ChannelRecord
}

// asShown fails if no answer of the function has the names that docs/redis.md shows, in their
// order.
func asShown(t *testing.T, rdb *redis.Client, list []*vector) {
	t.Helper()
	page, err := os.ReadFile("../docs/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(page), "\n> FCALL_RO tidemark_inbox 1 inbox:ann\n")
	shown, _, _ = strings.Cut(shown, "\n")
	for _, path := range [][]string{nil, {"channels"}} {
		want, err := docs.Names(shown, path...)
		if err != nil {
			t.Fatal(err)
		}
		var last []string
		if !slices.ContainsFunc(list, func(v *vector) bool {
			v.fill(t, rdb, "packed")
			text, err := rdb.FCallRO(t.Context(), "tidemark_inbox", []string{InboxKey("u:1")}, v.Now).Text()
			if err != nil {
				t.Fatal(err)
			}
			last, err = docs.Names(text, path...)
			return err == nil && docs.SameNames(last, want)
		}) {
			t.Errorf("docs/redis.md shows an answer with %q, and the last one has %q", want, last)
		}
	}
}
