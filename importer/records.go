package importer

import (
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events"
)

// sink takes records in the order of their keys. It may keep the value but not the key.
type sink interface {
	write(key []byte, in events.Input, channel string, value []byte, millis int64) error
}

// marshal encodes an event deterministically.
func marshal(e proto.Message) ([]byte, error) {
	events.StateVersion(e)
	return proto.MarshalOptions{Deterministic: true}.Marshal(e)
}

func timestamp(millis int64) *timestamppb.Timestamp { return timestamppb.New(time.UnixMilli(millis)) }

// stamp formats a time for problem reports.
func stamp(millis int64) string { return time.UnixMilli(millis).UTC().Format(time.RFC3339) }
