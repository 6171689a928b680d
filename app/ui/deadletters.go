package ui

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/letters"
	"github.com/tidemark/tidemark/events"
)

const (
	listedLetters = 50      // of each partition, newest
	shownValue    = 4 << 10 // bytes of a value
	lettersWait   = 5 * time.Second
)

// shownLetter is a dead letter with its value, as text or in hex.
type shownLetter struct {
	letters.Letter
	Value  string `json:"value"`
	Hex    bool   `json:"hex"`
	Cut    bool   `json:"cut"`
	Usable bool   `json:"usable"` // this build would take it now
}

// deadLetters lists the newest ones, newest first. A request that names the newest version is
// answered without a body: a page asks every few seconds, and letters can be large.
func (u *UI) deadLetters(w http.ResponseWriter, r *http.Request) {
	list := []shownLetter{}
	var check letters.Checker
	had := r.URL.Query().Get("version")
	ends, err := u.readLetters(r.Context(), func(e letterEnds) bool { return e.version() != had }, func(l letters.Letter) {
		s := shownLetter{Letter: l}
		_, err := l.Again(&check, false)
		s.Usable = err == nil
		s.Value, s.Hex, s.Cut = shown(l.Record.Value)
		list = append(list, s)
	})
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, err)
		return
	}
	if ends.version() == had {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	slices.SortStableFunc(list, func(a, b shownLetter) int { return b.Written.Compare(a.Written) })
	reply(w, map[string]any{"letters": list[:min(len(list), listedLetters)], "total": ends.total(), "version": ends.version()})
}

// letterEnds is where the log of dead letters starts and ends, by partition.
type letterEnds map[int32]tail

// total is how many letters there are.
func (e letterEnds) total() (n int64) {
	for _, t := range e {
		n += t.to - t.from
	}
	return n
}

// version changes whenever a letter is written or expires.
func (e letterEnds) version() string {
	var b strings.Builder
	for _, p := range slices.Sorted(maps.Keys(e)) {
		fmt.Fprintf(&b, "%d:%d-%d,", p, e[p].from, e[p].to)
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:8])
}

// always reads the letters, whichever there are.
func always(letterEnds) bool { return true }

// shown is a value as people can read it.
func shown(v []byte) (text string, isHex, cut bool) {
	cut = len(v) > shownValue
	v = v[:min(len(v), shownValue)]
	if json.Valid(v) || utf8.Valid(v) && !slices.ContainsFunc([]rune(string(v)), func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' }) {
		return string(v), false, cut
	}
	return hex.Dump(v), true, cut
}

// readLetters asks where the log ends and, if those ends are wanted, calls fn for the newest
// letters of each partition.
func (u *UI) readLetters(ctx context.Context, wanted func(letterEnds) bool, fn func(letters.Letter)) (letterEnds, error) {
	ctx, cancel := context.WithTimeout(ctx, lettersWait)
	defer cancel()
	topic := u.cfg.Topics.DeadLetters
	options := append(u.cfg.Kafka.ClientOptions(), kgo.DisableClientMetrics(), kgo.FetchMaxWait(100*time.Millisecond))
	asker, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	defer asker.Close()
	all, err := tails(ctx, kadm.NewClient(asker), topic, 1<<62)
	if err != nil || !wanted(all) {
		return all, err
	}
	left := map[int32]int64{}
	offsets := map[int32]kgo.Offset{}
	for p, t := range all {
		if t.from < t.to {
			left[p], offsets[p] = t.to, kgo.NewOffset().At(max(t.from, t.to-listedLetters))
		}
	}
	if len(left) == 0 {
		return all, nil
	}
	cl, err := kgo.NewClient(append(options, kgo.KeepControlRecords(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: offsets}))...)
	if err != nil {
		return all, err
	}
	defer cl.Close()
	for len(left) > 0 {
		fetches := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			return all, fmt.Errorf("the dead letters could not be read to their end within %s", lettersWait)
		}
		for _, e := range fetches.Errors() {
			if e.Topic != "" {
				return all, fmt.Errorf("%s/%d: %w", e.Topic, e.Partition, e.Err)
			}
		}
		for it := fetches.RecordIter(); !it.Done(); {
			r := it.Next()
			to, wanted := left[r.Partition]
			if wanted && r.Offset < to && !r.Attrs.IsControl() {
				fn(letters.Of(r))
			}
			if wanted && r.Offset >= to-1 {
				delete(left, r.Partition)
			}
		}
	}
	return all, nil
}

// replay writes one letter to its topic again, with its channel as key.
func (u *UI) replay(w http.ResponseWriter, r *http.Request) {
	var want struct {
		Partition int32 `json:"partition"`
		Offset    int64 `json:"offset"`
	}
	if err := body(w, r, &want); err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	var found *letters.Letter
	if _, err := u.readLetters(r.Context(), always, func(l letters.Letter) {
		if l.Partition == want.Partition && l.Offset == want.Offset {
			found = &l
		}
	}); err != nil {
		refuse(w, http.StatusServiceUnavailable, err)
		return
	}
	if found == nil {
		refuse(w, http.StatusNotFound, fmt.Errorf("there is no dead letter %d/%d among the newest; `tidemark deadletters replay --at %d/%d` finds older ones",
			want.Partition, want.Offset, want.Partition, want.Offset))
		return
	}
	record, err := found.Again(new(letters.Checker), false)
	if err != nil {
		refuse(w, http.StatusConflict, fmt.Errorf("the record would be refused again: %w", err))
		return
	}
	token, err := u.write(r.Context(), record)
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, err)
		return
	}
	reply(w, map[string]string{"after": token})
}

// write writes one record and returns its place, topic/partition/offset.
func (u *UI) write(ctx context.Context, r *kgo.Record) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, lettersWait)
	defer cancel()
	cl, err := kgo.NewClient(append(u.cfg.Kafka.ClientOptions(), kgo.DisableClientMetrics(), kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), kgo.ProducerBatchMaxBytes(events.MaxValueBytes+128<<10))...)
	if err != nil {
		return "", err
	}
	defer cl.Close()
	got, err := cl.ProduceSync(ctx, r).First()
	if err != nil {
		return "", errors.Join(fmt.Errorf("not written to %s", r.Topic), err)
	}
	return events.RecordID{Topic: got.Topic, Partition: got.Partition, Offset: got.Offset}.String(), nil
}
