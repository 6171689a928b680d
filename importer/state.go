package importer

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
)

// TopicImports has the states of imports. It is compacted, has one partition, and its key is
// product and slot.
const TopicImports = "tidemark.imports"

// The phases of an import.
const (
	phaseMessages = "messages"
	phaseReads    = "reads"
	phaseDone     = "done"
)

// State is the state of an import. It is written after the records that it covers.
type State struct {
	Version int    `json:"version"`
	Product string `json:"product"`
	Slot    string `json:"slot"`
	Source  string `json:"source"`
	Phase   string `json:"phase"`
	// LSN is the position of the replication slot whose snapshot was imported, and later the
	// position up to which a bridge has written everything; "" without a slot.
	LSN string `json:"lsn,omitempty"`
	// Moment is the set of transactions that the import includes, in the form of
	// source.ParseMoment; "" if the source was no database.
	Moment string `json:"moment,omitempty"`
	// Debezium is a bridge's position in Debezium's topics; nil if it does not read them.
	Debezium *Feed `json:"debezium,omitempty"`
	// Part is how many changes of the next transaction the bridge has also written.
	Part int `json:"part,omitempty"`
	// Cut is the time before which messages become a count, 0 for none. Now is when the import
	// began. Both are in Unix milliseconds.
	Cut int64 `json:"cut"`
	Now int64 `json:"now"`
	// Messages and Reads are the progress of each pass.
	Messages Pass `json:"messages"`
	Reads    Pass `json:"reads"`
}

// Feed is a position in Debezium's topics.
type Feed struct {
	LSN     string             `json:"lsn"`     // of the newest written change
	Offsets map[string][]int64 `json:"offsets"` // next offsets, by topic and partition
}

// Pass is the progress of an import in one topic.
type Pass struct {
	Key     []byte  `json:"key"`     // place of the last written record
	Digest  uint64  `json:"digest"`  // of the places of all messages up to Key
	Records int64   `json:"records"` // that are written
	Offsets []int64 `json:"offsets"` // next offsets in the log, by partition
}

func (s *State) pass(in events.Input) *Pass {
	if in == events.Reads {
		return &s.Reads
	}
	return &s.Messages
}

// since returns how long before its beginning the cut of an import is, 0 without a cut.
func (s *State) since() time.Duration {
	if s.Cut == 0 {
		return 0
	}
	return time.Duration(s.Now-s.Cut) * time.Millisecond
}

// name is the key of the state, and the header that marks the records of this import.
func (s *State) name() string { return s.Product + "/" + s.Slot }

// Name is the name of the import, which is also the value of Header.
func (s *State) Name() string { return s.name() }

// Header is the header of the records of an import and its bridge.
const Header = headerImport

const stateVersion = 1

// Load reads how far an import is; nil if it never began.
func Load(ctx context.Context, conf Config) (*State, error) {
	cl, err := conf.Kafka.Client(ctx, patience, kgo.DisableClientMetrics(), kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	return OpenStates(conf, cl).Load(ctx)
}

// claim is what follows the name of a slot in the state that claims it.
const claim = "/claim"

// Claim remembers that the slot that is about to be made belongs to this import, which has no state
// yet.
func Claim(ctx context.Context, conf Config) error {
	cl, err := conf.Kafka.Client(ctx, patience, kgo.DisableClientMetrics(), kgo.RequiredAcks(kgo.AllISRAcks()), kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		return err
	}
	defer cl.Close()
	s := &states{conf: &conf, topic: conf.Prefix + TopicImports, cl: cl}
	inputs := []string{conf.Prefix + events.Messages.String(), conf.Prefix + events.Reads.String()}
	if _, _, _, err := kafkaadmin.SettledIdentities(ctx, kadm.NewClient(cl), inputs); err != nil {
		return err
	}
	if err := s.ensure(ctx, inputs); err != nil {
		return err
	}
	return s.save(ctx, &State{Version: stateVersion, Product: conf.Product, Slot: conf.Slot + claim})
}

// Claimed reports whether an earlier call was about to make the slot for this import.
func Claimed(ctx context.Context, conf Config) (bool, error) {
	conf.Slot += claim
	state, err := Load(ctx, conf)
	return state != nil, err
}

// States is where the state of an import is.
type States struct {
	states
	name string
}

// OpenStates returns where the state of an import is.
func OpenStates(conf Config, cl *kgo.Client) *States {
	return &States{states{conf: &conf, topic: conf.Prefix + TopicImports, cl: cl}, (&State{Product: conf.Product, Slot: conf.Slot}).name()}
}

// Load reads how far the import is; nil if it never began.
func (s *States) Load(ctx context.Context) (*State, error) {
	topics, err := kadm.NewClient(s.cl).ListTopics(ctx, s.topic)
	if err != nil {
		return nil, fmt.Errorf("reading the metadata of topic %s: %w", s.topic, err)
	}
	if !topics.Has(s.topic) {
		return nil, nil
	}
	return s.load(ctx, s.name)
}

// Record returns the record that saves a state.
func (s *States) Record(x *State) (*kgo.Record, error) { return s.record(x) }

// Partitions returns the numbers of partitions of the topics that an import writes to, by name.
func (s *States) Partitions(ctx context.Context) (map[string]int32, error) {
	topics := []string{s.conf.Prefix + events.Messages.String(), s.conf.Prefix + events.Reads.String()}
	_, _, partitions, err := kafkaadmin.SettledIdentities(ctx, kadm.NewClient(s.cl), topics)
	return partitions, err
}

// Done reports whether the import has written everything.
func (s *State) Done() bool { return s.Phase == phaseDone }

// states are the states of imports in a cluster.
type states struct {
	conf  *Config
	topic string
	cl    *kgo.Client
}

// ensure makes the topic if it is missing, with as many replicas as the inputs have.
func (s *states) ensure(ctx context.Context, inputs []string) error {
	adm := kadm.NewClient(s.cl)
	details, err := adm.ListTopics(ctx, inputs[0])
	if err != nil {
		return fmt.Errorf("replication factor of %s: %w", inputs[0], err)
	}
	replicas := int16(1)
	for _, p := range details[inputs[0]].Partitions {
		replicas = int16(len(p.Replicas))
	}
	return kafkaadmin.Create(ctx, adm, []events.TopicSpec{{
		Name: s.topic, Partitions: 1, Replication: replicas,
		Configs: map[string]string{"cleanup.policy": "compact", "min.insync.replicas": strconv.Itoa(1 + min(1, int(replicas)/3))},
	}})
}

// load reads the newest state of an import; nil if it never began.
func (s *states) load(ctx context.Context, name string) (*State, error) {
	adm := kadm.NewClient(s.cl)
	from, err := adm.ListStartOffsets(ctx, s.topic)
	if err != nil {
		return nil, fmt.Errorf("start offsets of %s: %w", s.topic, err)
	}
	first, _ := from.Lookup(s.topic, 0)
	ends, err := ends(ctx, adm, s.topic, 1)
	if err != nil {
		return nil, err
	}
	var found *State
	err = readLog(ctx, s.conf, s.topic, []int64{first.Offset}, ends, func(r *kgo.Record) error {
		if string(r.Key) != name {
			return nil
		}
		found = nil
		if r.Value == nil {
			return nil
		}
		found = &State{}
		if err := json.Unmarshal(r.Value, found); err != nil || found.Version != stateVersion {
			return fmt.Errorf("%s/0/%d: the state of the import %s has version %d, which this build cannot read: continue with the "+
				"build that began it (%w)",
				s.topic, r.Offset, name, found.Version, err)
		}
		return nil
	})
	return found, err
}

// record returns the record of a state.
func (s *states) record(x *State) (*kgo.Record, error) {
	b, err := json.Marshal(x)
	return &kgo.Record{Topic: s.topic, Partition: 0, Key: []byte(x.name()), Value: b}, err
}

// save writes the state and waits for the acknowledgment.
func (s *states) save(ctx context.Context, x *State) error {
	r, err := s.record(x)
	if err != nil {
		return err
	}
	if err := s.cl.ProduceSync(ctx, r).FirstErr(); err != nil {
		return fmt.Errorf("writing to %s: %w", s.topic, err)
	}
	return nil
}
