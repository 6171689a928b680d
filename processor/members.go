package processor

import (
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/processor/internal/group"
)

// Member is the data that a node publishes about itself in its group.
type Member struct {
	InstanceID string
	Host       string // as the brokers see it
	Advertise  string // URL at which it answers queries; empty if it does not
	Standbys   int
	Settings   string // settings of its fold, as in projections.Settings.String; empty if it publishes none
}

// MembersOf returns the members of a processors' group.
func MembersOf(g kadm.DescribedGroup) []Member {
	var list []Member
	for _, m := range g.Members {
		one := Member{Host: m.ClientHost}
		if m.InstanceID != nil {
			one.InstanceID = *m.InstanceID
		}
		if join, ok := m.Join.AsConsumer(); ok {
			one.Advertise, one.Standbys, one.Settings = group.PublishedBy(join.UserData)
		}
		list = append(list, one)
	}
	return list
}
