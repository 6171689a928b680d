package compare

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark/tidemark/importer"
)

// A comparison waits for a node that folds an import for hours, and reports the progress. It gives
// up only if the partitions that it needs make no progress.
func TestWaitingForTheFold(t *testing.T) {
	why := errors.New("after: chat.messages/0/999 was not folded within 5s")
	for _, c := range []struct {
		what     string
		position func(second int64) ([]string, error)
		ends     time.Duration // time at which it gives up; 0: not within an hour
		said     string
	}{
		{"it advances", func(s int64) ([]string, error) { return []string{fmt.Sprint("chat.messages/0/", s/5)}, nil }, 0, "721 of 1099"},
		{"it stands from the beginning", func(int64) ([]string, error) { return []string{"chat.messages/0/41"}, nil }, 2 * time.Minute, "0 of 1058"},
		{"it stands after ten minutes", func(s int64) ([]string, error) { return []string{fmt.Sprint("chat.messages/0/", min(s, 600))}, nil }, 12 * time.Minute, ""},
		{"another partition advances", func(s int64) ([]string, error) {
			return []string{"chat.messages/0/41", fmt.Sprint("chat.messages/7/", s)}, nil
		}, 2 * time.Minute, ""},
		{"what is needed no longer advances", func(s int64) ([]string, error) {
			return []string{"chat.messages/0/41", fmt.Sprint("chat.reads/1/", 99+s)}, nil
		}, 2 * time.Minute, "0 of 958"},
		{"it goes back, and stands", func(s int64) ([]string, error) { return []string{fmt.Sprint("chat.messages/0/", 500-s%2)}, nil }, 2 * time.Minute, ""},
		{"nobody knows", func(int64) ([]string, error) { return nil, errors.New("not live") }, 2 * time.Minute, "0 of 1100"},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun, said := time.Now(), ""
			conf := Config{
				Patience: 2 * time.Minute,
				Progress: func(p importer.Progress) { said = fmt.Sprintf("%s: %d of %d", p.Phase, p.Done, p.Total) },
			}
			conf.Position = func(context.Context) ([]string, error) { return c.position(int64(time.Since(begun) / time.Second)) }
			w := conf.newWaiting([]string{"chat.messages/0/999", "chat.reads/1/99"})
			var err error
			for err == nil && time.Since(begun) < time.Hour+10*time.Second {
				err = w.wait(t.Context(), why)
				time.Sleep(retryEvery)
			}
			took := time.Since(begun)
			switch {
			case (err == nil) != (c.ends == 0), c.ends > 0 && (took < c.ends || took > c.ends+3*time.Second):
				t.Errorf("%s: ended after %v: %v", c.what, took, err)
			case err != nil && (!errors.Is(err, why) || !strings.Contains(err.Error(), "folded nothing more for 2m0s") || !strings.Contains(err.Error(), "--stall")):
				t.Errorf("%s: %v", c.what, err)
			}
			if c.said != "" && c.said != "0 of 1100" && !strings.HasSuffix(said, "waiting for the node to fold the topics: "+c.said) {
				t.Errorf("%s: %q", c.what, said)
			}
		})
	}
}

// A comparison continues once the node has folded everything, however long that takes: each look
// finds progress within the limit.
func TestRunWaitsForTheFold(t *testing.T) {
	looks := int64(0)
	f := &folded{late: 7, counts: map[Pair]uint32{{"ann", "a", ""}: 3}}
	lines, _ := run(t, f, Config{
		Patience: 400 * time.Millisecond,
		Position: func(context.Context) ([]string, error) {
			looks++
			return []string{fmt.Sprint("chat.messages/0/", looks)}, nil
		},
	}, &rowsOf{counts: []importer.Count{count("ann", "a", "", 3)}})
	if len(lines) != 1 || looks < 4 {
		t.Errorf("%d looks: %q", looks, lines)
	}
}
