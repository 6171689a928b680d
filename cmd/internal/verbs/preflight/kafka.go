package preflight

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
)

// describeGroups is a request whose later versions say nothing about the rights on a group that
// does not exist yet.
const describeGroups, describeGroupsVersion = 15, 5

// kafka checks everything that the brokers report. It returns the partitions of the topics, or 1 if
// they are unknown.
func (c *Config) kafka(ctx context.Context, r *Report) (partitions int32) {
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(describeGroups, describeGroupsVersion)
	cl, err := c.Node.Kafka.Client(ctx, c.Patience, kgo.MaxVersions(versions), kgo.DisableClientMetrics())
	if err != nil {
		r.Failed("brokers", err.Error(), "check the addresses of --brokers, the network, TLS (--kafka-tls, --kafka-ca) and the login (--kafka-sasl)")
		return 1
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	ctx, cancel := context.WithTimeout(ctx, 2*c.Patience)
	defer cancel()

	t := c.Node.Topics
	names := append(t.Inputs[:len(t.Inputs):len(t.Inputs)], t.Unread, t.Channels, t.Receipts, t.DeadLetters)
	details, brokers, err := detailsOf(ctx, adm, names)
	if err != nil {
		r.Failed("brokers", err.Error(), "check that the brokers are healthy")
		return 1
	}
	r.OK("brokers", fmt.Sprintf("%d in the cluster at %s", brokers, strings.Join(c.Node.Kafka.Brokers, ",")))
	has := allowed{}
	partitions = c.topics(ctx, r, adm, details, names, has)
	groups := map[string]kadm.DescribedGroup{}
	for _, name := range c.groups() {
		g := c.describe(ctx, adm, name)
		groups[name] = g
		switch {
		case errors.Is(g.Err, kerr.GroupAuthorizationFailed):
			has[[2]string{"group", name}] = nil
		case g.Err == nil && g.AuthorizedOperations != nil:
			has[[2]string{"group", name}] = g.AuthorizedOperations
		}
	}
	c.rights(r, has)
	c.peers(ctx, r, groups[c.Node.Group])
	return partitions
}

// describe requests a group, with an error in it if there is no answer. A cluster without any use
// yet first creates the topic in which it keeps its groups.
func (c *Config) describe(ctx context.Context, adm *kadm.Client, name string) kadm.DescribedGroup {
	for deadline := time.Now().Add(c.Patience); ; {
		all, err := adm.DescribeGroups(ctx, name)
		g, ok := all[name]
		var shards *kadm.ShardErrors
		if errors.As(err, &shards) && len(shards.Errs) > 0 {
			err = shards.Errs[0].Err
		}
		if err == nil && ok {
			err = g.Err
		} else if err == nil {
			err = errors.New("the brokers' answer does not include it")
		}
		g.Err = err
		if !errors.Is(err, kerr.CoordinatorNotAvailable) || time.Now().After(deadline) {
			return g
		}
		select {
		case <-ctx.Done():
			return g
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// groups are the groups of the roles.
func (c *Config) groups() []string {
	list := []string{c.Node.Group}
	if c.Node.Roles.Has(config.RoleCache) {
		list = append(list, c.Node.Group+"-cache")
	}
	if c.Node.Roles.Has(config.RoleGateway) {
		list = append(list, c.Node.Group+"-gateway")
	}
	return list
}

// detailsOf requests topics one by one: kadm returns nothing about any of them if one is refused.
func detailsOf(ctx context.Context, adm *kadm.Client, names []string) (details kadm.TopicDetails, brokers int, err error) {
	details = kadm.TopicDetails{}
	for _, name := range names {
		md, err := adm.Metadata(kadm.WithAuthorizedOps(ctx), name)
		switch {
		case errors.Is(err, kerr.TopicAuthorizationFailed):
			details[name] = kadm.TopicDetail{Topic: name, Err: kerr.TopicAuthorizationFailed}
		case err != nil:
			return nil, 0, err
		default:
			details[name], brokers = md.Topics[name], len(md.Brokers)
		}
	}
	return details, brokers, nil
}

// topics checks that the topics are there and configured as they should be.
func (c *Config) topics(ctx context.Context, r *Report, adm *kadm.Client, details kadm.TopicDetails, names []string, has allowed) (partitions int32) {
	create := "create them with `tidemark topics create` and the same --topic-prefix, or set --topic-prefix to the prefix of the existing topics"
	var missing, hidden []string
	for _, name := range names {
		topic := details[name]
		switch {
		case errors.Is(topic.Err, kerr.UnknownTopicOrPartition):
			missing = append(missing, name)
		case errors.Is(topic.Err, kerr.TopicAuthorizationFailed):
			hidden = append(hidden, name)
			has[[2]string{"topic", name}] = nil
		case topic.Err != nil:
			r.Failed("topic", fmt.Sprintf("%s: %v", name, topic.Err), "check that the brokers are healthy")
		default:
			if topic.AuthorizedOperations != nil {
				has[[2]string{"topic", name}] = topic.AuthorizedOperations
			}
			partitions = max(partitions, int32(len(topic.Partitions)))
		}
	}
	partitions = max(1, partitions)
	if len(missing) > 0 {
		r.Failed("topics", "missing: "+strings.Join(missing, ", "), create)
		return partitions
	}
	found := fmt.Sprintf("%d topics of %d partitions", len(names)-len(hidden), partitions)
	if len(hidden) > 0 {
		found = fmt.Sprintf("%d of %d topics, with %d partitions; this user may not see the others", len(names)-len(hidden), len(names), partitions)
	}
	specs := events.PrefixedTopicSpecs(strings.TrimSuffix(c.Node.Topics.Inputs[0], events.InputTopics[0]), 0, 0)
	for i := range specs {
		delete(specs[i].Configs, "min.insync.replicas") // follows from the number of replicas, which is free
	}
	diffs, err := kafkaadmin.Check(ctx, adm, specs)
	switch {
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		r.Unknown("topics", found+"; this user may not see their configuration", "run `tidemark topics check` as an administrator")
		return partitions
	case err != nil:
		r.Failed("topics", err.Error(), "check that the brokers are healthy")
		return partitions
	}
	for _, d := range diffs {
		what, wayOut, _ := strings.Cut(d.String(), ": ")
		r.Failed("topic", what, wayOut)
	}
	if len(diffs) == 0 {
		r.OK("topics", found)
	}
	return partitions
}
