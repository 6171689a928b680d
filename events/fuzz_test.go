package events_test

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
)

// record is the timestamp of records in tests, and recordText the same time.
const (
	record     int64 = 1_760_000_000_123
	recordText       = "2025-10-09T08:53:20.123Z"
)

// equal compares events field by field; nil and empty slices are the same.
func equal(t *testing.T, got, want any) {
	t.Helper()
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range g.NumField() {
		name := g.Type().Field(i).Name
		var same bool
		switch a := g.Field(i).Interface().(type) {
		case []byte:
			same = bytes.Equal(a, w.Field(i).Bytes())
		case [][]byte:
			same = slices.EqualFunc(a, w.Field(i).Interface().([][]byte), bytes.Equal)
		case []uint32:
			same = slices.Equal(a, w.Field(i).Interface().([]uint32))
		default:
			if g.Field(i).Kind() == reflect.Struct {
				equal(t, a, w.Field(i).Interface())
				same = true
			} else {
				same = reflect.DeepEqual(a, w.Field(i).Interface())
			}
		}
		if !same {
			t.Errorf("%s: got %q, want %q", name, g.Field(i), w.Field(i))
		}
	}
}

// compare decodes a value with both decoders. d and got are reused between values, as a partition
// does it: nothing may remain of the previous value.
func compare[E any](t *testing.T, value []byte, record int64,
	decode func([]byte, int64, *E) error, got *E, reference func([]byte, int64) (E, events.Reason)) {
	t.Helper()
	original := bytes.Clone(value)
	err := decode(value, record, got)
	want, reason := reference(value, record)
	if r := events.ReasonOf(err); r != reason || (err == nil) != (reason == "") {
		t.Fatalf("value %q: got error %v, want reason %q", value, err, reason)
	}
	if err == nil {
		equal(t, *got, want)
	}
	if !bytes.Equal(value, original) {
		t.Errorf("value %q was changed to %q", original, value)
	}
	if t.Failed() {
		t.Fatalf("value %q", value)
	}
}

func addSeeds(f *testing.F, list []proto.Message, texts ...string) {
	for _, m := range list {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		j, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, record)
		f.Add(j, record)
		f.Add(b, int64(-1))
		for _, framed := range frames(b, j) {
			f.Add(framed, record)
		}
	}
	for _, s := range texts {
		f.Add([]byte(s), record)
	}
	f.Add([]byte(`{"min_version":3,"channel_id":[1]}`), record)
	f.Add([]byte("\x48\x03\x0a\x01\xff"), record)     // newer, and a text that is not UTF-8
	f.Add([]byte("\x0b\x0b\x0c\x0c"), record)         // groups
	f.Add([]byte("\x08\x01\x52\x00"), record)         // channel_id as a varint
	f.Add([]byte("\x52\x02\x0c\x0c"), record)         // stray end of a group
	f.Add([]byte("\x80\x80\x80\x80\x80\x01"), record) // number out of range
	f.Add([]byte(nil), record)
}

func FuzzMessage(f *testing.F) {
	addSeeds(f, sampleMessages(), "\x6a\x03\x0a\x01a\x6a\x02\x10\x05", "\x6a\x04\x1a\x02\x08\x01\x6a\x05\x1a\x03\x10\xff\x01")
	var d events.Decoder
	var m events.Message
	f.Fuzz(func(t *testing.T, value []byte, record int64) {
		compare(t, value, clampRecord(record), d.Message, &m, referenceMessage)
	})
}

func FuzzRead(f *testing.F) {
	addSeeds(f, sampleReads(), "\x52\x03\x0a\x01a\x52\x02\x10\x05", "\x52\x04\x1a\x02\x08\x01\x52\x05\x1a\x03\x10\xff\x01")
	var d events.Decoder
	var r events.Read
	f.Fuzz(func(t *testing.T, value []byte, record int64) {
		compare(t, value, clampRecord(record), d.Read, &r, referenceRead)
	})
}

func FuzzDelivery(f *testing.F) {
	addSeeds(f, sampleDeliveries(), "\x52\x03\x0a\x01a\x52\x03\x12\x01b")
	var d events.Decoder
	var v events.Delivery
	f.Fuzz(func(t *testing.T, value []byte, record int64) {
		compare(t, value, clampRecord(record), d.Delivery, &v, referenceDelivery)
	})
}

// clampRecord keeps timestamps small enough that adding five minutes cannot overflow. Kafka's own
// timestamps end long before.
func clampRecord(record int64) int64 { return record % (1 << 60) }

// TestMutations runs the differential comparison over random mutations of good events in every test
// run.
func TestMutations(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	var d events.Decoder
	var m events.Message
	var r events.Read
	var v events.Delivery
	mutations(t, rnd, sampleMessages(), func(b []byte) { compare(t, b, record, d.Message, &m, referenceMessage) })
	mutations(t, rnd, sampleReads(), func(b []byte) { compare(t, b, record, d.Read, &r, referenceRead) })
	mutations(t, rnd, sampleDeliveries(), func(b []byte) { compare(t, b, record, d.Delivery, &v, referenceDelivery) })
}

// mutations calls fn with encodings of the list: concatenated (which merges them), truncated, and
// with changed bytes.
func mutations(t *testing.T, rnd *rand.Rand, list []proto.Message, fn func([]byte)) {
	t.Helper()
	var encoded [][]byte
	for _, m := range list {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		encoded = append(encoded, b)
	}
	for range 20_000 {
		b := bytes.Clone(encoded[rnd.IntN(len(encoded))])
		if rnd.IntN(2) == 0 {
			b = append(b, encoded[rnd.IntN(len(encoded))]...)
		}
		if rnd.IntN(4) == 0 {
			framed := frames(b, nil)
			b = framed[rnd.IntN(len(framed))]
		}
		for range rnd.IntN(3) {
			if len(b) > 0 {
				b[rnd.IntN(len(b))] ^= 1 << rnd.IntN(8)
			}
		}
		if rnd.IntN(4) == 0 {
			b = b[:rnd.IntN(len(b)+1)]
		}
		fn(b)
	}
}
