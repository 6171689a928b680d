package operate

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/app/node"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/snapshot"
)

// grown waits until a series has grown by more than n since before.
func (s *site) grown(url string, before map[string]float64, name string, n float64) (after map[string]float64) {
	s.t.Helper()
	s.until(func() error {
		if after = s.series(url); after[name]-before[name] <= n {
			return fmt.Errorf("%s has grown from %v to %v only", name, before[name], after[name])
		}
		return nil
	})
	return after
}

// The alerts fire for a coordinator that ends sessions, for a Redis that is away while many numbers
// change, and for brokers that refuse what a node publishes.
func TestWhatServersRefuseFiresItsAlert(t *testing.T) {
	testkit.Program(t, "promtool")
	s := newSite(t, 1)
	server := testkit.Miniredis(t)
	var sessions, publishing atomic.Bool
	unread := s.topics.Name(events.TopicUnread)
	id := s.kafka.TopicInfo(unread).TopicID
	s.kafka.Control(func(r kmsg.Request) (kmsg.Response, error, bool) {
		s.kafka.KeepControl()
		switch r := r.(type) {
		case *kmsg.HeartbeatRequest:
			if sessions.Load() && r.Group == s.group {
				resp := r.ResponseKind().(*kmsg.HeartbeatResponse)
				resp.ErrorCode = kerr.UnknownServerError.Code
				return resp, nil, true
			}
		case *kmsg.JoinGroupRequest:
			if sessions.Load() && r.Group == s.group {
				resp := r.ResponseKind().(*kmsg.JoinGroupResponse)
				resp.ErrorCode = kerr.UnknownServerError.Code
				return resp, nil, true
			}
		case *kmsg.ProduceRequest:
			if publishing.Load() && slices.ContainsFunc(r.Topics, func(t kmsg.ProduceRequestTopic) bool { return t.Topic == unread || t.TopicID == id }) {
				return refusedProduce(r), nil, true
			}
		}
		return nil, nil, false
	})
	url := s.node("redis://"+server.Addr(), nil, config.RoleProcessor, config.RoleCache, config.RoleQuery)
	s.ready(url)
	members := make([]string, 50) // enough members that each of them has a count of their own
	for i := range members {
		members[i] = fmt.Sprintf("%q", fmt.Sprint("u", i))
	}
	s.send(events.TopicMessages, "team", `{"channel_id":"team","members_joined":{"user_ids":[`+strings.Join(members, ",")+`]}}`, time.Now())
	s.await(url, "tidemark_cache_lag_records")
	s.reaches(url, "tidemark_cache_complete{}")

	// The coordinator ends session after session, then it recovers.
	before := s.series(url)
	sessions.Store(true)
	s.grown(url, before, "tidemark_processor_group_errors_total{}", 5)
	sessions.Store(false)
	s.ready(url)
	s.fires(before, s.series(url), "TidemarkGroupErrors")

	// Redis is away, and more than 10,000 numbers change.
	before = s.series(url)
	server.Close()
	for i, lag := 0, 0.0; lag <= 10_000; i++ {
		s.send(events.TopicMessages, "team", fmt.Sprintf(`{"channel_id":"team","message_posted":{"message_id":"m%d","sender_id":"u0"}}`, i), time.Now())
		if i%50 != 0 {
			continue
		}
		if i > 20_000 {
			t.Fatalf("the cache is %v records behind after %d messages", lag, i)
		}
		lag = 0
		for name, n := range s.series(url) {
			if strings.HasPrefix(name, "tidemark_cache_lag_records") {
				lag += n
			}
		}
	}
	after := s.awaitChange(url, before, `tidemark_redis_errors_total{role="cache"}`)
	s.fires(before, after, "TidemarkCacheBehind", "TidemarkRedisErrors")

	// The right to write to the topic of counts is gone. The alerts about Redis are left out.
	before = s.series(url)
	publishing.Store(true)
	s.send(events.TopicMessages, "team", `{"channel_id":"team","message_posted":{"message_id":"last","sender_id":"u0"}}`, time.Now())
	after = s.awaitChange(url, before, "tidemark_processor_publish_refused_total", `tidemark_processor_partition_state{partition="0",state="failed"}`)
	for _, prefix := range []string{"tidemark_cache_", "tidemark_redis_"} {
		before, after = without(before, prefix), without(after, prefix)
	}
	s.fires(before, after, "TidemarkNotReady", "TidemarkPartitionFailed", "TidemarkPublishRefused")
}

// refusedProduce refuses every record of a request, as a broker does if the client lacks the right.
func refusedProduce(r *kmsg.ProduceRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.ProduceResponse)
	for i := range r.Topics {
		t := kmsg.NewProduceResponseTopic()
		t.Topic, t.TopicID = r.Topics[i].Topic, r.Topics[i].TopicID
		for j := range r.Topics[i].Partitions {
			p := kmsg.NewProduceResponseTopicPartition()
			p.Partition, p.ErrorCode = r.Topics[i].Partitions[j].Partition, kerr.TopicAuthorizationFailed.Code
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

// A node that starts on a damaged store, beside a damaged snapshot, makes the alerts for both fire
// and no others. It rebuilds the store from the log.
func TestWhatIsDamagedFiresItsAlert(t *testing.T) {
	testkit.Program(t, "promtool")
	s := newSite(t, 1)
	data, dir := t.TempDir(), filepath.Join(t.TempDir(), "bucket")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	bucket, err := snapshot.OpenBucket("file://" + filepath.ToSlash(dir))
	if err != nil {
		t.Fatal(err)
	}
	settings := func(c *node.Config) {
		c.DataDir, c.Snapshots, c.SnapshotEvery = data, snapshot.New(bucket, snapshot.Options{}), 200*time.Millisecond
	}
	url, stop := s.start("", settings, config.RoleProcessor, config.RoleQuery)
	s.ready(url)
	s.send(events.TopicMessages, "team", `{"channel_id":"team","members_joined":{"user_ids":["ann","bob"]}}`, time.Now())
	s.await(url, "tidemark_processor_snapshot_age_seconds")
	before := s.series(url)
	stop()
	if n := damaged(t, data, "MANIFEST-"); n == 0 {
		t.Fatal("there is no store")
	}
	if n := damaged(t, dir, string(filepath.Separator)+"files"+string(filepath.Separator)); n == 0 {
		t.Fatal("there is no snapshot")
	}
	url = s.node("", settings, config.RoleProcessor, config.RoleQuery)
	s.ready(url)
	s.await(url, "tidemark_processor_snapshot_age_seconds")
	s.fires(before, s.series(url), "TidemarkRestoreFailed", "TidemarkStoreCorrupt")
}

// damaged changes every byte of the files below a folder whose paths contain part, and returns the
// number of files.
func damaged(t *testing.T, dir, part string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(path[len(dir):], part) {
			return err
		}
		n++
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(path, bytes.Repeat([]byte{0xa5}, int(info.Size())), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The alert fires if channels that stay in memory whatever the limit (more than 4,096 users) need more
// than 1.3 times the memory for the hot state.
func TestAHotSetThatIsTooLargeFiresItsAlert(t *testing.T) {
	testkit.Program(t, "promtool")
	s := newSite(t, 1)
	url := s.node("", func(c *node.Config) { c.Memory = config.MinMemory }, config.RoleProcessor, config.RoleQuery)
	s.ready(url)
	before := s.series(url)
	var users strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&users, `,"%d"`, i)
	}
	limit := 1.3 * before[`tidemark_memory_share_bytes{share="hot"}`]
	if limit == 0 {
		t.Fatal("the node exports no share of the hot state")
	}
	for i := range 400 {
		channel := fmt.Sprintf("c%d", i)
		s.send(events.TopicMessages, channel, fmt.Sprintf(`{"channel_id":%q,"members_joined":{"user_ids":[%s]}}`, channel, users.String()[1:]), time.Now())
	}
	after := s.grown(url, before, `tidemark_processor_hot_bytes{partition="0"}`, limit)
	s.fires(before, after, "TidemarkHotSetLarge")
}
