package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/processor"
)

// Right is an operation that a role's user needs to be allowed at the brokers.
type Right struct {
	Do       string // in Kafka's words: Read, Write, Describe
	Resource string // topic or group
	Name     string
}

func (r Right) String() string { return r.Do + " on " + r.Resource + " " + r.Name }

// Rights are the rights of each role, as docs/security.md lists them.
func Rights(role config.Role, t processor.Topics, group string) []Right {
	on := func(do string, names ...string) (list []Right) {
		for _, name := range names {
			list = append(list, Right{do, "topic", name})
		}
		return list
	}
	messages, reads, deliveries := t.Inputs[0], t.Inputs[1], t.Inputs[2]
	switch role {
	case config.RoleProcessor:
		return slices.Concat(on("Read", messages, reads, deliveries), on("Write", t.Unread, t.Channels, t.Receipts, t.DeadLetters),
			[]Right{{"Read", "group", group}})
	case config.RoleCache:
		return slices.Concat(on("Describe", messages, reads, deliveries), on("Read", t.Unread, t.Channels), []Right{{"Read", "group", group + "-cache"}})
	case config.RoleSQL:
		return slices.Concat(on("Describe", messages, reads, deliveries), on("Read", t.Unread, t.Channels, t.Receipts), []Right{{"Read", "group", group + "-sql"}})
	case config.RoleQuery:
		return append(on("Write", messages, reads, deliveries), Right{"Describe", "group", group})
	case config.RoleGateway:
		return slices.Concat(on("Read", messages, t.Unread, t.Channels, t.Receipts), on("Write", reads, deliveries),
			[]Right{{"Read", "group", group + "-gateway"}, {"Describe", "group", group}})
	}
	return nil
}

// allowed has the operations that the brokers report for a topic or group. A resource that they
// refuse to describe has none; a resource that they do not report on is missing.
type allowed map[[2]string][]kmsg.ACLOperation

// rights compares the needed rights with the granted ones.
func (c *Config) rights(r *Report, has allowed) {
	needed, lacking, unknown := map[Right]bool{}, 0, 0
	for _, role := range c.Node.Roles {
		for _, right := range Rights(role, c.Node.Topics, c.Node.Group) {
			if needed[right] {
				continue
			}
			needed[right] = true
			ops, known := has[[2]string{right.Resource, right.Name}]
			op, err := kmsg.ParseACLOperation(right.Do)
			switch {
			case !known || err != nil:
				unknown++
			case !slices.Contains(ops, op):
				lacking++
				user := c.KafkaUser
				if user == "" {
					user = "NAME"
				}
				r.Failed("right", "the brokers do not allow "+right.String(), fmt.Sprintf("as an administrator: `kafka-acls.sh --bootstrap-server %s --add "+
					"--allow-principal User:%s --operation %s --%s %s`", strings.Join(c.Node.Kafka.Brokers, ","), user, right.Do, right.Resource, right.Name))
			}
		}
	}
	switch checked := len(needed) - unknown; {
	case unknown > 0:
		r.Unknown("rights", fmt.Sprintf("the brokers do not report %d of %d rights", unknown, len(needed)),
			"compare the ACLs with docs/security.md, or create the missing topics and groups and check again")
	case lacking == 0:
		r.OK("rights", fmt.Sprintf("all %d that the roles %s need", checked, c.Node.Roles))
	}
}
