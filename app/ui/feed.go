package ui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/guard"
)

// feedTail is how many records of each partition the page reads when it starts. In a small log
// these are all records.
const feedTail = 20_000

// feed follows chat.messages.
type feed struct{ *timeline }

func newFeed() *feed { return &feed{newTimeline()} }

// Run follows chat.messages until ctx is done. If the topic cannot be read, or a bug ends the
// reading, Run retries; the page then shows numbers without texts, and the rest of the node is not
// affected.
func (u *UI) Run(ctx context.Context) error {
	sampling := make(chan struct{})
	guard.Go("the samples of the page's charts", guard.Log(u.cfg.Logger, "the page's charts have no more samples"), func() {
		defer close(sampling)
		u.sample(ctx)
	})
	defer func() { <-sampling }()
	for {
		err := guard.Err("the page's messages", func() error { return u.follow(ctx) })
		if ctx.Err() != nil {
			return nil
		}
		u.cfg.Logger.Warn("the page cannot follow the messages, trying again",
			append(guard.Attrs(err), "topic", u.cfg.Topics.Inputs[events.Messages])...)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

// follow reads the topic from near its end.
func (u *UI) follow(ctx context.Context) error {
	topic := u.cfg.Topics.Inputs[events.Messages]
	options := append(u.cfg.Kafka.ClientOptions(), kgo.DisableClientMetrics(), kgo.FetchMaxWait(250*time.Millisecond))
	asker, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	from, err := tails(ctx, kadm.NewClient(asker), topic, feedTail)
	asker.Close()
	if err != nil {
		return err
	}
	offsets := map[int32]kgo.Offset{}
	for p, t := range from {
		offsets[p] = kgo.NewOffset().At(t.from)
	}
	cl, err := kgo.NewClient(append(options, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: offsets}))...)
	if err != nil {
		return err
	}
	defer cl.Close()
	var d events.Decoder
	var m events.Message
	for ctx.Err() == nil {
		fetches := cl.PollFetches(ctx)
		for _, e := range fetches.Errors() {
			if e.Topic != "" {
				return fmt.Errorf("%s/%d: %w", e.Topic, e.Partition, e.Err)
			}
		}
		for it := fetches.RecordIter(); !it.Done(); {
			r := it.Next()
			if err := d.Message(r.Value, r.Timestamp.UnixMilli(), &m); err == nil {
				u.feed.apply(&m) // a bad record is a dead letter, which the operators' view shows
			}
		}
	}
	return ctx.Err()
}

// tail is the end of a partition's log: offsets from, inclusive, to to, exclusive.
type tail struct{ from, to int64 }

// tails returns the last n records of a topic's partitions, or fewer if the log has fewer.
func tails(ctx context.Context, adm *kadm.Client, topic string, n int64) (map[int32]tail, error) {
	starts, err := adm.ListStartOffsets(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("start offsets of topic %s: %w", topic, err)
	}
	ends, err := adm.ListEndOffsets(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("end offsets of topic %s: %w", topic, err)
	}
	if err := errors.Join(starts.Error(), ends.Error()); err != nil {
		return nil, fmt.Errorf("topic %s: %w", topic, err)
	}
	out := map[int32]tail{}
	ends.Each(func(e kadm.ListedOffset) {
		start, _ := starts.Lookup(topic, e.Partition)
		out[e.Partition] = tail{max(start.Offset, e.Offset-n), e.Offset}
	})
	return out, nil
}

func (u *UI) people(w http.ResponseWriter, _ *http.Request) {
	reply(w, map[string]any{"people": u.feed.people()})
}

func (u *UI) history(w http.ResponseWriter, r *http.Request) {
	channel, since := r.URL.Query().Get("channel_id"), uint64(0)
	if !events.ValidID([]byte(channel)) {
		refuse(w, http.StatusBadRequest, errors.New("channel_id: want 1 to 255 bytes without control characters"))
		return
	}
	if s := r.URL.Query().Get("since"); s != "" {
		var err error
		if since, err = strconv.ParseUint(s, 10, 64); err != nil {
			refuse(w, http.StatusBadRequest, fmt.Errorf("since: %q is not a revision", s))
			return
		}
	}
	reply(w, u.feed.history(channel, since))
}

const (
	// changesPause joins the changes of a burst.
	changesPause = 50 * time.Millisecond
	// changesQuiet is the interval of keep-alives of a stream without changes.
	changesQuiet = 15 * time.Second
	changesWrite = 10 * time.Second
)

// changes streams which channels have changed, as server-sent events.
func (u *UI) changes(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	c := http.NewResponseController(w)
	send := func(text string) bool {
		_ = c.SetWriteDeadline(time.Now().Add(changesWrite)) // each write has its own deadline instead of the server's
		_, err := w.Write([]byte(text))
		return err == nil && c.Flush() == nil
	}
	_, revision, next := u.feed.since(^uint64(0))
	for ok := send(": here\n\n"); ok; {
		select {
		case <-r.Context().Done():
			return
		case <-u.cfg.Stopping.Done():
			return
		case <-time.After(changesQuiet):
			ok = send(": still here\n\n")
			continue
		case <-next:
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(changesPause):
		}
		var channels []string
		channels, revision, next = u.feed.since(revision)
		data, err := json.Marshal(map[string]any{"channels": channels, "revision": revision})
		ok = err == nil && send("data: "+string(data)+"\n\n")
	}
}
