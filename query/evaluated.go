package query

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/query/internal/answer"
	"github.com/tidemark/tidemark/query/internal/fault"
)

// at returns the time as of which a request is answered, in Unix milliseconds: the one that it
// states, or now.
func (s *service) at(stated *timestamppb.Timestamp) (int64, error) {
	if stated == nil {
		return s.now().UnixMilli(), nil
	}
	if err := stated.CheckValid(); err != nil {
		return 0, fault.Invalid("evaluated_at is no time: %v", err)
	}
	return stated.AsTime().UnixMilli(), nil
}

// evaluated is a request that can state the time as of which it is answered, so that all owners
// evaluate levels at the same time.
func evaluated[Req interface {
	proto.Message
	GetEvaluatedAt() *timestamppb.Timestamp
}](s *service, m Req) (Req, int64, error) {
	now, err := s.at(m.GetEvaluatedAt())
	if err != nil || m.GetEvaluatedAt() != nil {
		return m, now, err
	}
	stating := proto.CloneOf(m) // the caller may use its request again later
	d := stating.ProtoReflect()
	d.Set(d.Descriptor().Fields().ByName("evaluated_at"), protoreflect.ValueOfMessage(answer.Timestamp(now).ProtoReflect()))
	return stating, now, nil
}
