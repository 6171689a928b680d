package group

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// Differing is a member whose settings differ from those of the caller.
type Differing struct {
	Member   string // the URL at which the member answers queries, or its host as the brokers see it
	Settings string
}

func (d Differing) String() string { return fmt.Sprintf("%s (%s)", d.Member, d.Settings) }

// Differing returns the members of the group whose settings differ from own, in the order of their
// names. It skips members of older versions, which do not publish their settings. ok is false while
// the group is not stable.
func (d *Directory) Differing(ctx context.Context, own string) (others []Differing, ok bool, err error) {
	g, err := d.Describe(ctx)
	if err != nil || g.State != "Stable" {
		return nil, false, err
	}
	for _, m := range g.Members {
		join, is := m.Join.AsConsumer()
		if !is {
			continue
		}
		data := decodeMemberData(join.UserData)
		if data.Settings != "" && data.Settings != own {
			others = append(others, Differing{cmp.Or(data.Advertise, m.ClientHost), data.Settings})
		}
	}
	slices.SortFunc(others, func(a, b Differing) int {
		return cmp.Or(cmp.Compare(a.Member, b.Member), cmp.Compare(a.Settings, b.Settings))
	})
	return others, true, nil
}
