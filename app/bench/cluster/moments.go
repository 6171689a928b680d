package cluster

import (
	"encoding/json"
	"slices"
	"time"
)

// Messages of a node's log about its partitions.
const (
	Assigned = "partitions assigned"                       // by the group
	Restored = "partition is restored"                     // from a snapshot
	Tailed   = "partition is tailed for its owner"         // by a standby
	Live     = "partition is live"                         // it answers
	Listed   = "partition knows all channels of its users" // it answers calls about users
)

// Moment is a line of a node's log that names a partition.
type Moment struct {
	At        time.Time
	What      string
	Partition int32
}

// read returns the moments of a log line in JSON, one for each partition that it names; none if the
// line has no message of this package.
func read(line []byte) (all []Moment) {
	var l struct {
		At         time.Time       `json:"time"`
		What       string          `json:"msg"`
		Partition  json.RawMessage `json:"partition"`
		Partitions json.RawMessage `json:"partitions"` // a number in some lines, which none of these is
	}
	if json.Unmarshal(line, &l) != nil || !slices.Contains([]string{Assigned, Restored, Tailed, Live, Listed}, l.What) {
		return nil
	}
	var numbers []int32
	if l.What == Assigned {
		if json.Unmarshal(l.Partitions, &numbers) != nil {
			return nil
		}
	} else {
		numbers = make([]int32, 1)
		if json.Unmarshal(l.Partition, &numbers[0]) != nil {
			return nil
		}
	}
	for _, n := range numbers {
		all = append(all, Moment{l.At, l.What, n})
	}
	return all
}

// Moments are the moments of one process, oldest first.
type Moments []Moment

// After returns the time of the first moment of this kind at or after a time.
func (all Moments) After(from time.Time, what string, partition int32) (time.Time, bool) {
	for _, m := range all {
		if m.What == what && m.Partition == partition && !m.At.Before(from) {
			return m.At, true
		}
	}
	return time.Time{}, false
}

// Took returns the longest time that one of the partitions took from its first moment of one kind to
// its first of another; 0 if all had the other before. It returns false while one is missing.
func (all Moments) Took(from, to string, partitions []int32) (longest time.Duration, ok bool) {
	for _, n := range partitions {
		began, ok := all.After(time.Time{}, from, n)
		if !ok {
			return 0, false
		}
		ended, ok := all.After(time.Time{}, to, n)
		if !ok {
			return 0, false
		}
		longest = max(longest, ended.Sub(began))
	}
	return longest, true
}

// Until returns how long after a time the last of the partitions had a moment of this kind. It
// returns false while one is missing.
func (all Moments) Until(from time.Time, what string, partitions []int32) (longest time.Duration, ok bool) {
	for _, n := range partitions {
		at, ok := all.After(from, what, n)
		if !ok {
			return 0, false
		}
		longest = max(longest, at.Sub(from))
	}
	return longest, true
}

// Of returns the partitions that have a moment of this kind at or after a time, in order.
func (all Moments) Of(from time.Time, what string) (partitions []int32) {
	for _, m := range all {
		if m.What == what && !m.At.Before(from) {
			partitions = append(partitions, m.Partition)
		}
	}
	slices.Sort(partitions)
	return slices.Compact(partitions)
}
