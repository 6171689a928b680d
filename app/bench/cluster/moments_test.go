package cluster

import (
	"slices"
	"strings"
	"testing"
	"time"
)

const log = `{"time":"2026-11-29T07:00:00Z","level":"INFO","msg":"partitions assigned","partitions":[0,1]}
{"time":"2026-11-29T07:00:01Z","level":"INFO","msg":"partition is restored","partition":1,"bytes":5}
{"time":"2026-11-29T07:00:02Z","level":"INFO","msg":"partition is live","partition":0}
{"time":"2026-11-29T07:00:04.5Z","level":"INFO","msg":"partition is live","partition":1}
{"time":"2026-11-29T07:00:05Z","level":"INFO","msg":"stopping","partitions":2}
{"time":"2026-11-29T07:00:06Z","level":"INFO","msg":"partitions assigned","partitions":2}
not JSON
{"time":"2026-11-29T07:00:07Z","level":"INFO","msg":"partition is live","partition":0}
`

func moments(t *testing.T) (all Moments) {
	t.Helper()
	for line := range strings.Lines(log) {
		all = append(all, read([]byte(line))...)
	}
	if len(all) != 6 {
		t.Fatalf("%v, want 6 moments", all)
	}
	return all
}

func TestMoments(t *testing.T) {
	all := moments(t)
	began := all[0].At
	if took, ok := all.Took(Assigned, Live, []int32{0, 1}); !ok || took != 4500*time.Millisecond {
		t.Errorf("live after %s, %t", took, ok)
	}
	if took, ok := all.Took(Live, Assigned, []int32{0, 1}); !ok || took != 0 {
		t.Errorf("assigned %s after they were live, %t", took, ok)
	}
	if took, ok := all.Took(Assigned, Restored, []int32{0, 1}); ok {
		t.Errorf("both restored after %s", took)
	}
	if took, ok := all.Until(began.Add(3*time.Second), Live, []int32{0, 1}); !ok || took != 4*time.Second {
		t.Errorf("live again after %s, %t", took, ok)
	}
	if _, ok := all.Until(began.Add(5*time.Second), Live, []int32{0, 1}); ok {
		t.Error("partition 1 is live for the second time")
	}
	if got := all.Of(began, Live); !slices.Equal(got, []int32{0, 1}) {
		t.Errorf("live: %v", got)
	}
	if got := all.Of(began.Add(5*time.Second), Live); !slices.Equal(got, []int32{0}) {
		t.Errorf("live later: %v", got)
	}
}
