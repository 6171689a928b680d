package main

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/processor"
)

// The groups of flags that several verbs have. A verb has only those that it reads.

type brokersFlags struct {
	Brokers []string `default:"127.0.0.1:9092" placeholder:"HOST:PORT" help:"Kafka brokers to begin with (${default})."`
}

// patience is how long a broker or node may take to answer at all before a verb gives up.
const patience = 10 * time.Second

func (f brokersFlags) kafka() config.Kafka { return config.Kafka{Brokers: f.Brokers} }

// client connects to the brokers, or says that nobody answers.
func (f brokersFlags) client(a *app, opts ...kgo.Opt) (*kgo.Client, error) {
	opts = append([]kgo.Opt{kgo.DisableClientMetrics(), kgo.MetadataMinAge(100 * time.Millisecond)}, opts...)
	return f.kafka().Client(a.ctx, patience, opts...)
}

type redisFlags struct {
	Redis             string `default:"redis://127.0.0.1:6379" placeholder:"URL" help:"Redis (${default}). A password is not for the command line: give the URL in the environment, or a file."`
	RedisPasswordFile string `placeholder:"FILE" help:"File with the password of Redis."`
}

func (f redisFlags) redis(a *app) (config.Redis, error) {
	if a.given["redis"] && config.PasswordInURL(f.Redis) {
		return config.Redis{}, usagef("--redis has a password, which every user of this machine can read in the list of processes: " +
			"put the URL into $TIDEMARK_REDIS, or the password into a file for --redis-password-file")
	}
	return config.Redis{URL: f.Redis, PasswordFile: f.RedisPasswordFile}, nil
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
