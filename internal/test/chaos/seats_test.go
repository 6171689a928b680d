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

// seats maps the members of each group to nodes. A coordinator cannot tell them apart, because all
// have the same address. But only one node at a time joins a group, so an unknown member is the
// expected node.
//
// It is needed because a coordinator keeps a dead member until its session times out, after 10 s
// or, in the cache's group, 45 s, and no rebalance completes before that. To run many rounds a
// minute the tests remove the member with the leave request that a member itself would send. To the
// others this looks like the end of a session.
type seats map[string]map[string]*node // group -> member id -> node

// members returns the ids of a group's members.
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

// seat reports whether a node that has just started or resumed is a member of both groups. All
// other nodes must be seated or down.
func (c *cluster) seat(n *node) bool {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	seated := true
	for _, group := range groups {
		ids, err := c.members(ctx, group)
		if err != nil {
			return false // the coordinator is not available yet: the caller tries again
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

// seatOf returns the member id of a node in a group, or "".
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

// places returns a node's memberships. Call it when the node is dead and before it restarts.
func (c *cluster) places(n *node) []place {
	c.t.Helper()
	c.seat(n)
	var out []place
	for _, group := range groups {
		if id := c.seatOf(group, n); id != "" { // otherwise it was killed before it joined
			out = append(out, place{group, id})
		}
	}
	return out
}

// evict makes the coordinators remove the members of dead processes. On a busy machine a
// coordinator may not answer, or may be moving, for longer than the timeout of a request, so evict
// tries again. A member that is then unknown has been removed.
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
