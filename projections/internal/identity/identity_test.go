package identity

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/keys"
)

// sample returns a header in which no field is zero.
func sample() Header {
	h := Header{
		Format: SeededFormat, Fold: FoldVersion,
		Identity: Identity{ClusterID: "prod", Partition: 3, Partitions: 64, Settings: Settings{
			FanoutLimit: 50, ReceiptLimit: 40, SendMarksRead: true, IndexRetention: 90 * 24 * 3600 * 1000,
		}},
		Position: Position{7, 1 << 40, 9}, Times: [events.NumInputs]int64{-1, 1 << 41, 3}, Digest: keys.Digest{1 << 63, 5},
	}
	for i := range h.Identity.Topics {
		h.Identity.Topics[i] = TopicIdentity{Name: "chat." + string(rune('a'+i)), ID: [16]byte{byte(i), 15: 0xff}}
	}
	return h
}

// TestHeaderBytes: decoding an encoded header gives the same header. A header that is cut short or
// too long is refused.
func TestHeaderBytes(t *testing.T) {
	want := sample()
	b := want.Append(nil)
	var got Header
	if err := got.Decode(b); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got  %+v, %v\nwant %+v", got, err, want)
	}
	for cut := range b {
		if err := new(Header).Decode(bytes.Clone(b[:cut])); err == nil {
			t.Errorf("the first %d of %d bytes were taken for a header", cut, len(b))
		}
	}
	if err := new(Header).Decode(append(bytes.Clone(b), 0)); err == nil {
		t.Error("a header with a byte too many was taken")
	}
}

// TestHeaderOfAnotherFormat: if the format is unknown to this build, only the versions are read, so
// that the error can name them.
func TestHeaderOfAnotherFormat(t *testing.T) {
	for _, format := range []uint64{0, NewestFormat + 1, 1 << 40} {
		h := sample()
		h.Format, h.Fold = format, 77
		b := append(h.Append(nil)[:12], "who knows"...)
		var got Header
		if err := got.Decode(b); err != nil || got.Format != format || got.Fold != 77 || got.Identity != (Identity{}) {
			t.Errorf("format %d: %+v, %v", format, got, err)
		}
	}
}

// TestCheck: each difference has its kind, and a text with the difference and the way out.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(got *Header)
		want   Mismatch
		texts  []string
	}{
		{"nothing", func(*Header) {}, 0, nil},
		{"a format that stores get as they grow", func(h *Header) { h.Format = NewestFormat }, 0, nil},
		{"the oldest fold that opens", func(h *Header) { h.Fold = OldestFold }, 0, nil},
		{"newer format", func(h *Header) { h.Format = NewestFormat + 1 }, MismatchNewerFormat, []string{"newer version", "empty data directory"}},
		{"newer fold", func(h *Header) { h.Fold++ }, MismatchNewerFormat, []string{"newer version"}},
		{"older format", func(h *Header) { h.Format = FormatVersion - 1 }, MismatchOlderFormat, []string{"older version", "rebuild from the topics"}},
		{"older fold", func(h *Header) { h.Fold = OldestFold - 1 }, MismatchOlderFormat, []string{"older version"}},
		{"cluster", func(h *Header) { h.Identity.ClusterID = "test" }, MismatchCluster, []string{`"test"`, `"prod"`, "--brokers"}},
		{"partition", func(h *Header) { h.Identity.Partition = 4 }, MismatchPartition, []string{"partition 4, not 3"}},
		{"topic", func(h *Header) { h.Identity.Topics[1].Name = "old.b" }, MismatchTopicName, []string{`"old.b"`, `"chat.b"`}},
		{"partitions", func(h *Header) { h.Identity.Partitions = 32 }, MismatchPartitions, []string{"32 partitions", "64", "reshard"}},
		{"topic anew", func(h *Header) { h.Identity.Topics[2].ID[0] = 0xee }, MismatchTopicRecreated, []string{"chat.c", "created again", "ee0000"}},
		{"settings", func(h *Header) { h.Identity.Settings.FanoutLimit = 5 }, MismatchSettings, []string{"fanout-limit 5", "fanout-limit 50"}},
	} {
		got, want := sample(), sample()
		want.Format = FormatVersion
		c.change(&got)
		err := Check("/data/3", &got, &want)
		var m *MismatchError
		if c.want == 0 {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if !errors.As(err, &m) || m.Kind != c.want || m.Dir != "/data/3" {
			t.Errorf("%s: %v, want a mismatch of kind %d", c.name, err, c.want)
			continue
		}
		for _, text := range append(c.texts, "store /data/3") {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %q does not say %q", c.name, err, text)
			}
		}
	}
}

// TestCheckNamesTheWorstFirst: a store of a newer version may differ in anything, and a store of
// another cluster in its topics. Check names the difference that explains the others.
func TestCheckNamesTheWorstFirst(t *testing.T) {
	changes := []struct {
		kind   Mismatch
		change func(h *Header)
	}{
		{MismatchSettings, func(h *Header) { h.Identity.Settings.SendMarksRead = false }},
		{MismatchTopicRecreated, func(h *Header) { h.Identity.Topics[0].ID[5] = 1 }},
		{MismatchPartitions, func(h *Header) { h.Identity.Partitions = 1 }},
		{MismatchTopicName, func(h *Header) { h.Identity.Topics[0].Name = "x" }},
		{MismatchPartition, func(h *Header) { h.Identity.Partition = 0 }},
		{MismatchCluster, func(h *Header) { h.Identity.ClusterID = "x" }},
		{MismatchOlderFormat, func(h *Header) { h.Fold = OldestFold - 1 }},
		{MismatchNewerFormat, func(h *Header) { h.Format = NewestFormat + 1 }},
	}
	got, want := sample(), sample()
	for _, c := range changes {
		c.change(&got)
		var m *MismatchError
		if err := Check("d", &got, &want); !errors.As(err, &m) || m.Kind != c.kind {
			t.Errorf("got %v, want kind %d", err, c.kind)
		}
	}
}

// TestCheckIdentity: a store is compared with the versions of this build.
func TestCheckIdentity(t *testing.T) {
	id := sample().Identity
	if err := CheckIdentity("d", FormatVersion, FoldVersion, id, id); err != nil {
		t.Error(err)
	}
	if err := CheckIdentity("d", FormatVersion, FoldVersion+1, id, id); err == nil {
		t.Error("a store of a newer fold was taken")
	}
}

// TestDominates: a position is at or beyond another one only if every input is.
func TestDominates(t *testing.T) {
	p := Position{5, 5, 5}
	for _, c := range []struct {
		o    Position
		want bool
	}{{Position{}, true}, {p, true}, {Position{5, 5, 4}, true}, {Position{6, 0, 0}, false}, {Position{0, 6, 0}, false}, {Position{0, 0, 6}, false}} {
		if got := p.Dominates(c.o); got != c.want {
			t.Errorf("%v dominates %v: %v, want %v", p, c.o, got, c.want)
		}
	}
}

// TestDefaults: the defaults are those of DESIGN §2, §4.3 and §4.6, as errors format them.
func TestDefaults(t *testing.T) {
	if got, want := DefaultSettings().String(), "fanout-limit 50, receipt-limit 50, send-marks-read true, index-retention 2160h"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
