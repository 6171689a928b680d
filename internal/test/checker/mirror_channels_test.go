package checker

import (
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// TestWrongChannelRecordsAreFound plants one error at a time in the records of a channel, and wants
// the check to find it in what compaction leaves of them.
func TestWrongChannelRecordsAreFound(t *testing.T) {
	inputs := publishedLog(append(slices.Clone(tale),
		[2]string{events.TopicMessages, `{"channel_id":"general","min_version":2,"channel_updated":{"labels":["work"],"archived":true}}`})...)
	l := NewLog(projections.DefaultSettings(), 1, inputs)
	p := opened(t)
	var records []*kgo.Record
	for _, r := range inputs {
		Fold(p, r, 1)
		var d projections.Deltas
		p.Drain(&d, true)
		for _, o := range d.Records {
			if o.Topic == projections.OutChannels {
				records = append(records, &kgo.Record{Topic: events.TopicChannels, Key: slices.Clone(o.Key), Value: slices.Clone(o.Value),
					Offset: int64(len(records))})
			}
		}
	}
	newest := records[len(records)-1]
	type record = events.ChannelRecord
	for _, c := range []struct {
		what string
		left []*kgo.Record // read instead of records with a wrong newest one
		lie  func(*record)
		want string // part of the finding
	}{
		{what: "nothing", left: records},
		{what: "the same again", left: append(slices.Clone(records), newest)},
		{what: "an older one after it", left: append(slices.Clone(records), records[0]), want: "says"},
		{what: "none", left: []*kgo.Record{}, want: "nothing was published"},
		{what: "no record", left: []*kgo.Record{{Topic: events.TopicChannels, Value: []byte("\xff")}}, want: "tidemark.channels"},
		{what: "an older stamp", lie: func(r *record) { r.Stamp.M-- }},
		{what: "a stamp ahead of the log", lie: func(r *record) { r.Stamp.M++ }, want: "ahead of the log"},
		{what: "head_seq", lie: func(r *record) { r.HeadSeq-- }, want: "says"},
		{what: "head_pos", lie: func(r *record) { r.HeadPos++ }, want: "says"},
		{what: "member_count", lie: func(r *record) { r.MemberCount++ }, want: "says"},
		{what: "latest", lie: func(r *record) { r.Latest.Preview = []byte("x") }, want: "says"},
		{what: "large", lie: func(r *record) { r.Large = true }, want: "says"},
		{what: "deleted", lie: func(r *record) { r.Deleted = true }, want: "says"},
		{what: "labels", lie: func(r *record) { r.Labels = nil }, want: "says"},
		{what: "archived", lie: func(r *record) { r.Archived = false }, want: "says"},
	} {
		left := c.left
		if c.lie != nil {
			lied := *newest
			lied.Value = liedChannel(t, newest.Value, c.lie)
			left = append(slices.Clone(records), &lied)
		}
		f := &Findings{}
		found := AfterCompaction(left, f).CheckChannels(l)
		text := strings.Join(slices.Concat(f.First, found.First), "\n")
		if (text != "") != (c.want != "") || !strings.Contains(text, c.want) {
			t.Errorf("%s: found %q, want %q", c.what, text, c.want)
		}
	}
}
