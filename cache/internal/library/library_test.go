package library

import (
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

func client(t *testing.T, url string) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Loading the library replaces an older version, and keeps a later one.
func TestVersions(t *testing.T) {
	rdb, ctx := client(t, testkit.Redis(t).URL), t.Context()
	if versionOf(code) < 1 {
		t.Fatal("the library states no version")
	}
	for _, want := range []string{"version 1", ""} {
		if done, err := Load(ctx, rdb); done != want || err != nil {
			t.Errorf("%q, %v, want %q", done, err, want)
		}
	}
	for version, want := range map[string]string{"0": "version 1", "99": "version 99, which is later"} {
		other := strings.Replace(code, "-- version 1\n", "-- version "+version+"\n", 1)
		if err := rdb.FunctionLoadReplace(ctx, other).Err(); err != nil {
			t.Fatal(err)
		}
		if done, err := Load(ctx, rdb); !strings.HasPrefix(done, want) || err != nil {
			t.Errorf("over version %s: %q, %v, want %q", version, done, err, want)
		}
	}
}

// A Redis before version 7 has no functions.
func TestNoFunctions(t *testing.T) {
	rdb := client(t, "redis://"+testkit.Miniredis(t).Addr())
	if _, err := Load(t.Context(), rdb); err == nil || !strings.Contains(err.Error(), "does not support functions") {
		t.Errorf("got %v", err)
	}
}

// The function refuses what it cannot read with an explanation. A miss is null.
func TestRefusals(t *testing.T) {
	rdb, ctx := client(t, testkit.Redis(t).URL), t.Context()
	if _, err := Load(ctx, rdb); err != nil {
		t.Fatal(err)
	}
	call := func(keys []string, args ...any) (any, error) {
		return rdb.FCallRO(ctx, Function, keys, args...).Result()
	}
	for _, epoch := range []string{"", "6:later:inbox/x", "5:packed:inbox/x"} {
		if epoch != "" {
			rdb.Set(ctx, "tidemark:epoch", epoch, 0)
		}
		if got, err := call([]string{"inbox:nobody"}); got != nil || !errors.Is(err, redis.Nil) {
			t.Errorf("epoch %q: %v, %v, want a miss", epoch, got, err)
		}
	}
	for field, value := range map[string]string{"version 2": "\x02x", "in the middle": "\x01\x00\x01", "flags": "\x01\xff\xff\xff\x7f", "JSON": `{"unread":1}`, "more than belongs": "\x01\x00\x01\x01\x01\x01\x01\x01\x01\x01"} {
		rdb.Del(ctx, "inbox:u")
		rdb.HSet(ctx, "inbox:u", "c", value)
		if got, err := call([]string{"inbox:u"}); err == nil || !strings.Contains(err.Error(), field) || !strings.HasPrefix(err.Error(), "TIDEMARK") || !strings.Contains(err.Error(), "inbox:u") && field != "in the middle" {
			t.Errorf("%s: %v, %v", field, got, err)
		}
	}
	for want, f := range map[string]func() (any, error){
		"one key":   func() (any, error) { return call([]string{"outbox:u"}) },
		"WRONGTYPE": func() (any, error) { rdb.Set(ctx, "inbox:s", "text", 0); return call([]string{"inbox:s"}) },
		"no time":   func() (any, error) { return call([]string{"inbox:u"}, "noon") },
	} {
		if got, err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", want, got, err)
		}
	}
	rdb.Set(ctx, "tidemark:epoch", "4/x", 0)
	if got, err := call([]string{"inbox:u"}); err == nil || !strings.Contains(err.Error(), "--redis-values packed") {
		t.Errorf("JSON values: %v, %v", got, err)
	}
}
