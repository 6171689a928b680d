package skips

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// The last records of a burst are logged when the second is over, even if no other record comes.
// The end of the wait is not an error of the feed, unlike the same error of a partition.
func TestTheRestIsLoggedWhileNothingComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := New(slog.New(slog.NewTextHandler(&out, nil)), time.Now)
		idle := func(ctx context.Context) kgo.Fetches {
			<-ctx.Done()
			return kgo.NewErrFetch(ctx.Err())
		}
		none := func(context.Context) kgo.Fetches { return nil }
		l.Add(&kgo.Record{Topic: "x"}, errors.New("one"))
		l.Poll(t.Context(), none)
		for range 3 {
			l.Add(&kgo.Record{Topic: "x"}, errors.New("more"))
		}
		began := time.Now()
		for _, e := range l.Poll(t.Context(), idle).Errors() {
			if !Woken(e.Topic, e.Err) || Woken("tidemark.unread", e.Err) || Woken(e.Topic, errors.New("broken")) {
				t.Errorf("topic %q, %v", e.Topic, e.Err)
			}
		}
		l.Poll(t.Context(), none)
		if took := time.Since(began); took != time.Second || strings.Count(out.String(), "\n") != 2 || !strings.Contains(out.String(), "err=more count=3") {
			t.Errorf("after %v:\n%s", took, &out)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if l.Poll(ctx, idle); time.Since(began) != time.Second+time.Hour {
			t.Error("a poll ended although no line waited")
		}
	})
}
