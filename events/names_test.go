package events_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
)

// A kind has the name of its field in the schema, and the numbers follow the order of the schema.
func TestKindNames(t *testing.T) {
	want := []string{"none"}
	for _, m := range []proto.Message{sampleMessages()[0], sampleReads()[0], sampleDeliveries()[0]} {
		fields := m.ProtoReflect().Descriptor().Oneofs().ByName("kind").Fields()
		for i := range fields.Len() {
			want = append(want, string(fields.Get(i).Name()))
		}
	}
	if len(want) != int(events.NumKinds) {
		t.Fatalf("%d kinds, the schema has %d", events.NumKinds, len(want))
	}
	for k, name := range want {
		if got := events.Kind(k).String(); got != name {
			t.Errorf("%d: got %q, want %q", k, got, name)
		}
	}
	if got := events.NumKinds.String(); got != "Kind(26)" {
		t.Errorf("got %q", got)
	}
}
