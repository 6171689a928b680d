package kafkaadmin

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

func fetched(records ...*kgo.Record) kgo.Fetches {
	var of []kgo.FetchPartition
	for _, r := range records {
		of = append(of, kgo.FetchPartition{Partition: r.Partition, Records: []*kgo.Record{r}})
	}
	return kgo.Fetches{{Topics: []kgo.FetchTopic{{Topic: "a", Partitions: of}}}}
}

// Records at or past the end are left out, also those of a partition that is read already.
func TestTakeReadsToTheEnds(t *testing.T) {
	left := Left{0: 2, 1: 5}
	var got []string
	take := func(r *kgo.Record) error {
		got = append(got, fmt.Sprintf("%d/%d", r.Partition, r.Offset))
		return nil
	}
	at := func(p int32, offset int64) *kgo.Record { return &kgo.Record{Partition: p, Offset: offset} }
	if err := left.Take(fetched(at(0, 0), at(0, 1), at(0, 2), at(1, 3), at(2, 0)), take); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(left) != "map[1:5]" {
		t.Errorf("left: %v", left)
	}
	// A compacted log lacks the record before the end.
	if err := left.Take(fetched(at(1, 7)), take); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if s := strings.Join(got, " "); s != "0/0 0/1 1/3" {
		t.Errorf("read: %s", s)
	}
}

func TestTakeEndsWithAnError(t *testing.T) {
	left := Left{0: 2}
	err := left.Take(fetched(&kgo.Record{}, &kgo.Record{Offset: 1}), func(r *kgo.Record) error { return errors.New("disk") })
	if err == nil || len(left) != 1 {
		t.Errorf("%v, left: %v", err, left)
	}
}
