package everyone

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/internal/test/script/random"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/query/queryv1"
)

func TestMain(m *testing.M) { testkit.LeakFree(m) }

// TestEverybodyTellsTheSame writes random scripts with all of DESIGN §4.7, with small and large
// channels. Half of the records are written before devices connect, and half while they are
// connected. Then the reader of Redis, the function in Redis and the clients of JavaScript and Go
// must give each user the same as GetInbox and GetThreads: the badge and all other sums, also by
// label, and the numbers, level, flag, filing and labels of each channel and thread.
func TestEverybodyTellsTheSame(t *testing.T) {
	program := built(t)
	parts, met := random.Folded(), map[string]int{}
	for _, c := range []struct {
		name        string
		fanoutLimit uint32
		scripts     int
		draw        func(*rapid.T) *random.Case
	}{
		{"small and large", 2, 400, random.DrawMore(parts...)},
		{"no fan-out", 0, 200, random.DrawMore(parts...)},
		{"crowds", 50, 16, random.DrawCrowdMore(parts...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, all := newSite(t, c.fanoutLimit), drawScripts(t, c.scripts, c.draw)
			users := slices.Sorted(maps.Keys(all.users))
			list := all.records(t, s.topic)
			s.write(list[:len(list)/2])
			both := []*devices{inNode(t, s.url, users), inGoClient(t, program, s.url, users)}
			for _, d := range both {
				testkit.Await(t, d.name+" is connected", func() bool {
					for _, is := range d.answers() {
						if is == nil {
							return false
						}
					}
					return true
				})
			}
			after := s.write(list[len(list)/2:])
			t.Logf("%d records of %d users", len(list), len(users))
			s.same(users, both, after)
			for _, user := range users {
				s.askNode(user, time.Now(), after).meets(met)
			}
		})
	}
	t.Log(met)
	for _, what := range []string{"channels", "unread", "mentions", "flagged", "archived", "muted", "labels", "threads"} {
		if !t.Failed() && !testing.Short() && met[what] < 2 {
			t.Errorf("%d %s: the scripts have too few", met[what], what)
		}
	}
}

// same waits until all sources tell each user the same.
func (s *site) same(users []string, both []*devices, after []string) {
	s.t.Helper()
	var wrong string
	s.t.Cleanup(func() {
		if s.t.Failed() {
			s.t.Log(wrong)
		}
	})
	testkit.Await(s.t, "everybody tells the same", func() bool {
		shown := []map[string]*answer{both[0].answers(), both[1].answers()}
		for _, user := range users {
			now := time.Now()
			right := s.askNode(user, now, after)
			tells := map[string]*answer{both[0].name: shown[0][user], both[1].name: shown[1][user], "the reader": s.read(user, now), "the function": s.called(user, now)}
			for _, who := range slices.Sorted(maps.Keys(tells)) {
				if what := tells[who].differs(right); what != "" {
					wrong = fmt.Sprintf("%s tells %s\n  %s", who, user, what)
					return false
				}
			}
		}
		return true
	})
}

// askNode returns the answers of GetInbox and GetThreads.
func (s *site) askNode(user string, now time.Time, after []string) *answer {
	s.t.Helper()
	at := timestamppb.New(now)
	inbox, err := s.query.GetInbox(s.t.Context(), connect.NewRequest(&queryv1.GetInboxRequest{UserId: user, Archived: "all", PageSize: 1000, After: after, EvaluatedAt: at}))
	if err != nil {
		s.t.Fatal(err)
	}
	threads, err := s.query.GetThreads(s.t.Context(), connect.NewRequest(&queryv1.GetThreadsRequest{UserId: user, PageSize: 1000, After: after, EvaluatedAt: at}))
	if err != nil {
		s.t.Fatal(err)
	}
	names := protojson.MarshalOptions{UseProtoNames: true}
	text, err := names.Marshal(inbox.Msg)
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := parsed(text)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, th := range threads.Msg.Threads {
		out.Threads = append(out.Threads, thread{th.ChannelId, th.ThreadId, th.Unread, th.Mentions, th.DirectMentions, th.ReadEpoch})
	}
	return out
}

// read returns the answer of the reader of Redis. A user without channels is a miss.
func (s *site) read(user string, now time.Time) *answer {
	s.t.Helper()
	v, err := s.reader.At(now).View(s.t.Context(), user)
	if errors.Is(err, cache.ErrMiss) {
		return new(answer)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return ofView(v)
}

// called returns the answer of the function in Redis.
func (s *site) called(user string, now time.Time) *answer {
	s.t.Helper()
	text, err := s.rdb.FCallRO(s.t.Context(), "tidemark_inbox", []string{"inbox:" + escaped(user)}, now.UnixMilli()).Text()
	if errors.Is(err, redis.Nil) {
		return new(answer)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := parsed([]byte(text))
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}
