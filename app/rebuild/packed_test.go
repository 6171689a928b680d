package rebuild_test

import (
	"strings"
	"testing"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/projections"
)

// TestVerifyPacked: verify compares packed values, and of families that are left out nothing.
func TestVerifyPacked(t *testing.T) {
	s := projections.DefaultSettings()
	s.FanoutLimit = 3
	h := newHealthy(t, s)
	var p script.Parser
	records, err := p.Parse(strings.TrimSpace(`
ann, bob join #small
ann, bob, cat, dan join #large
update the channel labels work #small
ann posts s1, s2 #small
ann posts l1, l2 #large
bob reads up to s1 #small
bob follows s1 #small
ann posts r1 in thread s1 @bob #small
bob wants nothing until 1:00:00 ignoring @all #small
bob labels mine #small`))
	if err != nil {
		t.Fatal(err)
	}
	h.write(records)
	for _, c := range []struct{ values, keys string }{
		{"packed", "inbox,pointers,channels,threads"}, {"packed", "inbox"}, {"packed", "inbox,channels"}, {"json", "inbox,threads"}, {"json", "inbox,pointers"},
	} {
		h.config.RedisValues, h.config.RedisKeys = c.values, strings.Split(c.keys, ",")
		stop := h.run()
		reader := cache.NewReader(h.rdb)
		testkit.Await(t, "Redis has it all", func() bool {
			f, err := reader.Format(t.Context())
			e, _ := reader.Unread(t.Context(), "bob", "small")
			_, pending := reader.Unread(t.Context(), "bob", "large")
			return err == nil && f.Values() == c.values && f.Keys() == c.keys && len(e.OwnLabels) == 1 && pending == nil
		})
		stop()
		h.silent("--redis-values "+c.values+" --redis-keys "+c.keys, false)
	}
	inbox := cache.InboxKey("bob")
	wrong := `{"unread":0,"mentions":0,"read_epoch":77,"stamp":"1.0.0.0"}`
	if err := h.rdb.HSet(t.Context(), inbox, "large", wrong).Err(); err != nil {
		t.Fatal(err)
	}
	if res, _ := h.verify(false); res.Total == 0 {
		t.Errorf("verify finds no difference in %s", wrong)
	}
}
