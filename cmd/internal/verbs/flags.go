package verbs

import (
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/inflate"
	"github.com/tidemark/tidemark/processor"
)

// Groups of flags that several verbs have. A verb has only the groups that it reads.

// BrokersFlags set the addresses of the brokers and the login.
type BrokersFlags struct {
	Brokers           []string `default:"127.0.0.1:9092" placeholder:"HOST:PORT" help:"Kafka brokers to connect to first (${default})."`
	KafkaTLS          bool     `name:"kafka-tls" help:"Use TLS to the brokers."`
	KafkaCA           string   `name:"kafka-ca" placeholder:"FILE" help:"PEM file of the authorities that sign the brokers' certificates; by default the system's."`
	KafkaCert         string   `placeholder:"FILE" help:"PEM file of a certificate of this client, if the brokers require one."`
	KafkaKey          string   `placeholder:"FILE" help:"PEM file of its key."`
	KafkaServerName   string   `placeholder:"NAME" help:"Name in the brokers' certificates, if it differs from their addresses."`
	KafkaSASL         string   `name:"kafka-sasl" placeholder:"MECHANISM" help:"Log in: scram-sha-512, scram-sha-256, or plain, which needs --kafka-tls."`
	KafkaUser         string   `placeholder:"NAME" help:"User to log in as. The password comes from $$TIDEMARK_KAFKA_PASSWORD, or a file."`
	KafkaPasswordFile string   `placeholder:"FILE" help:"File with the password."`
}

// Patience is how long a verb waits for the first answer of a broker or node.
const Patience = 10 * time.Second

// Kafka returns the configuration of the flags, with the secrets that they name.
func (f BrokersFlags) Kafka() (config.Kafka, error) {
	opts, err := config.KafkaSecurity{
		UseTLS: f.KafkaTLS,
		TLS:    config.TLS{CAFile: f.KafkaCA, CertFile: f.KafkaCert, KeyFile: f.KafkaKey, ServerName: f.KafkaServerName},
		SASL:   f.KafkaSASL, User: f.KafkaUser, Password: os.Getenv("TIDEMARK_KAFKA_PASSWORD"), PasswordFile: f.KafkaPasswordFile,
	}.Options()
	if err != nil {
		return config.Kafka{}, Usagef("%v", err)
	}
	return config.Kafka{Brokers: f.Brokers, Options: append(opts, inflate.Options(inflate.DefaultBatch)...)}, nil
}

// Client connects to the brokers. It fails if no broker answers.
func (f BrokersFlags) Client(a *App, opts ...kgo.Opt) (*kgo.Client, error) {
	opts = append([]kgo.Opt{kgo.DisableClientMetrics(), kgo.MetadataMinAge(100 * time.Millisecond)}, opts...)
	k, err := f.Kafka()
	if err != nil {
		return nil, err
	}
	return k.Client(a.Ctx, Patience, opts...)
}

// TopicsFlags are the flags of the verbs that read or write a node's topics.
type TopicsFlags struct {
	TopicPrefix string `placeholder:"PREFIX" help:"Prefix of the names of all topics, after a reshard; none by default."`
}

// Topics are the names of all topics.
func (f TopicsFlags) Topics() processor.Topics { return Prefixed(f.TopicPrefix) }

// Specs returns the specifications of the topics.
func (f TopicsFlags) Specs(partitions int32, replicas int16) []events.TopicSpec {
	return events.PrefixedTopicSpecs(f.TopicPrefix, partitions, replicas)
}

// RedisFlags set the address of Redis and the login.
type RedisFlags struct {
	Redis             string `default:"redis://127.0.0.1:6379" placeholder:"URL" help:"URL of Redis (${default}). Do not put a password on the command line: set the URL in the environment, or use a password file."`
	RedisPasswordFile string `placeholder:"FILE" help:"File with the password of Redis."`
	RedisCA           string `name:"redis-ca" placeholder:"FILE" help:"PEM file of the authorities that sign the certificate of a rediss:// address; by default the system's."`
}

// RedisConfig returns the configuration of the flags; it refuses a password on the command line.
func (f RedisFlags) RedisConfig(a *App) (config.Redis, error) {
	if a.Given["redis"] && config.PasswordInURL(f.Redis) {
		return config.Redis{}, Usagef("--redis has a password, which every user of this machine can read in the list of processes: " +
			"put the URL into $TIDEMARK_REDIS, or the password into a file for --redis-password-file")
	}
	conf := config.Redis{URL: f.Redis, PasswordFile: f.RedisPasswordFile, CAFile: f.RedisCA}
	if _, err := conf.Options(); err != nil {
		return config.Redis{}, Usagef("%v", err)
	}
	return conf, nil
}

// SkipFlags name records to skip in the fold.
type SkipFlags struct {
	SkipRecord []string `placeholder:"TOPIC/P/OFFSET" help:"Skip this record, at which a partition is parked: it goes to the dead letters. Give the same records to all nodes and to every rebuild."`
}

// Skips returns the records to skip.
func (f SkipFlags) Skips() (list []events.RecordID, err error) {
	for _, text := range f.SkipRecord {
		r, err := events.ParseRecordID(text)
		if err != nil {
			return nil, Usagef("--skip-record: %v", err)
		}
		list = append(list, r)
	}
	return list, nil
}

// JSONFlag chooses between output for people and output for programs.
type JSONFlag struct {
	JSON bool `name:"json" help:"Print JSON, for programs."`
}

// PartitionsFlags choose partitions.
type PartitionsFlags struct {
	Partition []int32 `placeholder:"P" help:"Only these partitions."`
}

// Reachable returns an error at once if no broker answers, instead of waiting for one.
func (f BrokersFlags) Reachable(a *App) error {
	cl, err := f.Client(a)
	if err == nil {
		cl.Close()
	}
	return err
}

// Prefixed are the topics of package events under a prefix.
func Prefixed(prefix string) processor.Topics {
	t := processor.Topics{Unread: prefix + events.TopicUnread, Channels: prefix + events.TopicChannels, Receipts: prefix + events.TopicReceipts, DeadLetters: prefix + events.TopicDeadLetters}
	for i, name := range events.InputTopics {
		t.Inputs[i] = prefix + name
	}
	return t
}
