package travel

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/projections"
)

// logs has the offsets of the input topics' logs.
type logs struct {
	topics     [events.NumInputs]string
	cluster    string
	ids        map[string][16]byte
	partitions int32
	settings   projections.Settings

	starts, ends kadm.ListedOffsets
	after        kadm.ListedOffsets // the first records after the moment's time; nil: the moment has no time
}

// survey queries the brokers for the current offsets of the logs, and for their offsets at a
// moment.
func (g *Guide) survey(ctx context.Context, m Moment) (*logs, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(g.fold.Brokers...), kgo.ClientID("tidemark-travel"), kgo.DisableClientMetrics(),
	}, g.fold.ClientOptions...)...)
	if err != nil {
		return nil, fmt.Errorf("creating a Kafka client: %w", err)
	}
	defer client.Close()
	adm := kadm.NewClient(client)
	l := &logs{topics: g.fold.Topics.Inputs, settings: g.fold.Settings}
	var counts map[string]int32
	if l.cluster, l.ids, counts, err = kafkaadmin.SettledIdentities(ctx, adm, l.topics[:]); err != nil {
		return nil, err
	}
	l.partitions = counts[l.topics[0]]
	for _, name := range l.topics {
		if counts[name] != l.partitions {
			return nil, fmt.Errorf("topics %s and %s have %d and %d partitions: `tidemark topics check` says what is expected",
				l.topics[0], name, l.partitions, counts[name])
		}
	}
	if l.starts, err = adm.ListStartOffsets(ctx, l.topics[:]...); err != nil {
		return nil, fmt.Errorf("start offsets of the inputs: %w", err)
	}
	if l.ends, err = adm.ListEndOffsets(ctx, l.topics[:]...); err != nil {
		return nil, fmt.Errorf("end offsets of the inputs: %w", err)
	}
	if len(m.AsOf) == 0 {
		if l.after, err = adm.ListOffsetsAfterMilli(ctx, m.Time.UnixMilli()+1, l.topics[:]...); err != nil {
			return nil, fmt.Errorf("offsets of the inputs at %s: %w", m, err)
		}
	}
	return l, nil
}

// offsets returns the offsets of a partition in one listing.
func (l *logs) offsets(listed kadm.ListedOffsets, partition int32) (v projections.Position, err error) {
	for i, topic := range l.topics {
		o, ok := listed.Lookup(topic, partition)
		switch {
		case !ok:
			return v, fmt.Errorf("%s/%d: the brokers returned no offset", topic, partition)
		case o.Err != nil:
			return v, fmt.Errorf("%s/%d: %w", topic, partition, o.Err)
		}
		v[i] = o.Offset
	}
	return v, nil
}

// stand has the offsets of a partition's logs: where they begin, and where they were at the moment.
type stand struct {
	partition int32
	from, at  projections.Position
	// unsure are the inputs that have lost all records from before the moment to retention. Their
	// true position is at most the log's first offset, which is the value in at.
	unsure []int
}

// at returns the offsets of a partition's logs at the moment.
func (l *logs) at(m Moment, partition int32) (s stand, err error) {
	s.partition = partition
	if s.from, err = l.offsets(l.starts, partition); err != nil {
		return s, err
	}
	end, err := l.offsets(l.ends, partition)
	if err != nil {
		return s, err
	}
	if l.after == nil {
		if s.at, err = m.position(l.topics, partition); err != nil {
			return s, err
		}
		for i, topic := range l.topics {
			if s.at[i] > end[i] {
				return s, fmt.Errorf("%s/%d ends at offset %d: there is no record %d", topic, partition, end[i], s.at[i]-1)
			}
		}
		return s, nil
	}
	if s.at, err = l.offsets(l.after, partition); err != nil {
		return s, err
	}
	for i := range s.at {
		s.at[i] = max(s.at[i], s.from[i])
		if s.at[i] == s.from[i] && s.from[i] > 0 {
			s.unsure = append(s.unsure, i)
		}
	}
	return s, nil
}

// trimmed reports whether retention has removed the beginning of a log.
func (s *stand) trimmed() bool { return s.from != projections.Position{} }

// identity returns the identity of a partition's stores.
func (l *logs) identity(partition int32) projections.Identity {
	id := projections.Identity{ClusterID: l.cluster, Partition: partition, Partitions: l.partitions, Settings: l.settings}
	for i, name := range l.topics {
		id.Topics[i] = projections.TopicIdentity{Name: name, ID: l.ids[name]}
	}
	return id
}

// all returns the numbers of all partitions.
func (l *logs) all() []int32 {
	list := make([]int32, l.partitions)
	for n := range list {
		list[n] = int32(n)
	}
	return list
}

// check refuses tokens of a topic or partition that does not exist.
func (l *logs) check(m Moment) error {
	for _, token := range m.AsOf {
		id, err := events.ParseRecordID(token)
		if err != nil {
			return err
		}
		if !slices.Contains(l.topics[:], id.Topic) || id.Partition >= l.partitions {
			return fmt.Errorf("%s: the inputs are %v, with partitions 0 to %d", token, l.topics, l.partitions-1)
		}
	}
	return nil
}

// patience bounds requests to the brokers, except fetches.
const patience = 30 * time.Second
