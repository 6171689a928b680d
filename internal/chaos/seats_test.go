package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The groups that a node is a member of, with the roles processor and cache.
const (
	foldGroup  = "tidemark"
	cacheGroup = "tidemark-cache"
)

var groups = []string{foldGroup, cacheGroup}

// seats knows which member of each group is which node. A coordinator does not say: it sees one address for all. But no
// two nodes are ever on their way into a group at the same time, so a member that nobody knows is the one expected.
//
// It is needed because a coordinator gives a dead member up only when its session is over, after 10 s or, in the cache's
// group, 45 s, and until then no rebalance ends. To have many rounds a minute the tests make it give the member up, with the request that a member
// itself sends when it leaves. To all others that looks like the end of a session.
type seats map[string]map[string]*node // group -> member id -> node

// members are the ids of a group's members.
func (c *cluster) members(ctx context.Context, group string) ([]string, error) {
	described, err := c.admin.DescribeGroups(ctx, group)
	if err != nil {
		return nil, err
	}
	d := described[group]
	if d.Err != nil {
		return nil, d.Err
	}
	var ids []string
	for _, m := range d.Members {
		ids = append(ids, m.MemberID)
	}
	return ids, nil
}

// seat looks for a node that was just started, or woke up, and reports whether it is a member of both groups. All other
// nodes must be seated or down.
func (c *cluster) seat(n *node) bool {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	seated := true
	for _, group := range groups {
		ids, err := c.members(ctx, group)
		if err != nil {
			return false // not there yet, or it moves: whoever waits asks again
		}
		known := c.seats[group]
		for id := range known {
			if !slices.Contains(ids, id) {
				delete(known, id)
			}
		}
		for _, id := range ids {
			if known[id] == nil {
				known[id] = n
			}
		}
		seated = seated && c.seatOf(group, n) != ""
	}
	return seated
}

// seatOf is the id of a node in a group, empty if it is no member.
func (c *cluster) seatOf(group string, n *node) string {
	for id, who := range c.seats[group] {
		if who == n {
			return id
		}
	}
	return ""
}

// place is a member of a group.
type place struct{ group, id string }

// places are a node's members, to be asked for when it is dead and before it is started again.
func (c *cluster) places(n *node) []place {
	c.t.Helper()
	c.seat(n)
	var out []place
	for _, group := range groups {
		if id := c.seatOf(group, n); id != "" { // else it was killed before it joined
			out = append(out, place{group, id})
		}
	}
	return out
}

// evict makes the coordinators give members up whose process is dead. On a busy machine a coordinator may not answer, or move,
// for longer than a request lasts: it is asked again. That a member is unknown by then says that it was given up.
func (c *cluster) evict(dead []place) {
	c.t.Helper()
	for _, p := range dead {
		var err error
		for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
			if err = c.leave(p.group, p.id); err == nil || time.Now().After(deadline) {
				break
			}
		}
		if err != nil {
			c.t.Fatalf("make group %s give up member %s within %s: %v", p.group, p.id, patience, err)
		}
		delete(c.seats[p.group], p.id)
	}
}

func (c *cluster) leave(group, id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = group
	member := kmsg.NewLeaveGroupRequestMember()
	member.MemberID = id
	req.Members = append(req.Members, member)
	res, err := req.RequestWith(ctx, c.client)
	if err != nil {
		return err
	}
	codes := []int16{res.ErrorCode}
	for _, m := range res.Members {
		codes = append(codes, m.ErrorCode)
	}
	for _, code := range codes {
		if err := kerr.ErrorForCode(code); err != nil && !errors.Is(err, kerr.UnknownMemberID) {
			return fmt.Errorf("the coordinator says %w", err)
		}
	}
	return nil
}
