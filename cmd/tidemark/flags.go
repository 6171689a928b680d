package main

import (
	"crypto/tls"
	"log/slog"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/processor"
)

// The groups of flags that several verbs have. A verb has only those that it reads.

type brokersFlags struct {
	Brokers           []string `default:"127.0.0.1:9092" placeholder:"HOST:PORT" help:"Kafka brokers to begin with (${default})."`
	KafkaTLS          bool     `name:"kafka-tls" help:"Talk to the brokers by TLS."`
	KafkaCA           string   `name:"kafka-ca" placeholder:"FILE" help:"PEM file of the authorities to trust for that; else the system's."`
	KafkaCert         string   `placeholder:"FILE" help:"PEM file of a certificate of this client, if brokers want one."`
	KafkaKey          string   `placeholder:"FILE" help:"PEM file of its key."`
	KafkaServerName   string   `placeholder:"NAME" help:"Name that brokers' certificates must have, if not that of their addresses."`
	KafkaSASL         string   `name:"kafka-sasl" placeholder:"MECHANISM" help:"Log in: scram-sha-512, scram-sha-256, or plain, which needs --kafka-tls."`
	KafkaUser         string   `placeholder:"NAME" help:"As whom. The password is taken from $$TIDEMARK_KAFKA_PASSWORD, or a file."`
	KafkaPasswordFile string   `placeholder:"FILE" help:"File with the password."`
}

// patience is how long a broker or node may take to answer at all before a verb gives up.
const patience = 10 * time.Second

func (f brokersFlags) kafka() (config.Kafka, error) {
	opts, err := config.KafkaSecurity{
		UseTLS: f.KafkaTLS,
		TLS:    config.TLS{CAFile: f.KafkaCA, CertFile: f.KafkaCert, KeyFile: f.KafkaKey, ServerName: f.KafkaServerName},
		SASL:   f.KafkaSASL, User: f.KafkaUser, Password: os.Getenv("TIDEMARK_KAFKA_PASSWORD"), PasswordFile: f.KafkaPasswordFile,
	}.Options()
	if err != nil {
		return config.Kafka{}, usagef("%v", err)
	}
	return config.Kafka{Brokers: f.Brokers, Options: opts}, nil
}

// client connects to the brokers, or says that nobody answers.
func (f brokersFlags) client(a *app, opts ...kgo.Opt) (*kgo.Client, error) {
	opts = append([]kgo.Opt{kgo.DisableClientMetrics(), kgo.MetadataMinAge(100 * time.Millisecond)}, opts...)
	k, err := f.kafka()
	if err != nil {
		return nil, err
	}
	return k.Client(a.ctx, patience, opts...)
}

// topicsFlags are those of the verbs that read or write what a node does.
type topicsFlags struct {
	TopicPrefix string `placeholder:"PREFIX" help:"Prefix of the names of all topics, after a reshard; none by default."`
}

func (f topicsFlags) topics() processor.Topics { return prefixed(f.TopicPrefix) }

// specs are what the topics should be.
func (f topicsFlags) specs(partitions int32, replicas int16) []events.TopicSpec {
	return events.PrefixedTopicSpecs(f.TopicPrefix, partitions, replicas)
}

type redisFlags struct {
	Redis             string `default:"redis://127.0.0.1:6379" placeholder:"URL" help:"Redis (${default}). A password is not for the command line: give the URL in the environment, or a file."`
	RedisPasswordFile string `placeholder:"FILE" help:"File with the password of Redis."`
	RedisCA           string `name:"redis-ca" placeholder:"FILE" help:"PEM file of the authorities that a rediss:// address trusts; else the system's."`
}

func (f redisFlags) redis(a *app) (config.Redis, error) {
	if a.given["redis"] && config.PasswordInURL(f.Redis) {
		return config.Redis{}, usagef("--redis has a password, which every user of this machine can read in the list of processes: " +
			"put the URL into $TIDEMARK_REDIS, or the password into a file for --redis-password-file")
	}
	conf := config.Redis{URL: f.Redis, PasswordFile: f.RedisPasswordFile, CAFile: f.RedisCA}
	if _, err := conf.Options(); err != nil {
		return config.Redis{}, usagef("%v", err)
	}
	return conf, nil
}

// skipFlags leave records out of the fold.
type skipFlags struct {
	SkipRecord []string `placeholder:"TOPIC/P/OFFSET" help:"Leave this record out: one at which a partition is parked. It goes to the dead letters. The same for all nodes, and for every rebuild."`
}

func (f skipFlags) skips() (list []processor.RecordID, err error) {
	for _, text := range f.SkipRecord {
		r, err := processor.ParseRecordID(text)
		if err != nil {
			return nil, usagef("--skip-record: %v", err)
		}
		list = append(list, r)
	}
	return list, nil
}

type jsonFlag struct {
	JSON bool `name:"json" help:"Print JSON, for programs."`
}

// tlsFlags are those of a node's listener.
type tlsFlags struct {
	TLSCert string `name:"tls-cert" placeholder:"FILE" help:"PEM file of the certificate to serve with, and those that vouch for it; a new one is taken without a restart."`
	TLSKey  string `name:"tls-key" placeholder:"FILE" help:"PEM file of its key."`
	TLSCA   string `name:"tls-ca" placeholder:"FILE" help:"PEM file of the authorities to trust when talking to other nodes; else the system's."`
}

// tls are the configurations of the listener and of calls to other nodes, nil where nothing is said.
func (f tlsFlags) tls(log *slog.Logger) (served, peers *tls.Config, err error) {
	if f.TLSCert != "" || f.TLSKey != "" {
		if served, err = config.ServedTLS(f.TLSCert, f.TLSKey, log); err != nil {
			return nil, nil, usagef("--tls-cert, --tls-key: %v", err)
		}
	}
	if f.TLSCA != "" {
		if peers, err = (config.TLS{CAFile: f.TLSCA}).Config(); err != nil {
			return nil, nil, usagef("--tls-ca: %v", err)
		}
	}
	return served, peers, nil
}
