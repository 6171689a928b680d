package entry

import (
	"strconv"

	"github.com/tidemark/tidemark/cache/internal/pipeline"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/jsonw"
)

// AppendHash adds the fields of channel-latest and their values, in the order of DESIGN §8.
func AppendHash(out *pipeline.Commands, r *events.ChannelRecord) {
	out.Str("latest_id")
	out.Text(r.Latest.MessageID)
	out.Str("latest_at")
	if r.Latest.Seq > 0 {
		out.Buf = jsonw.AppendTime(out.Buf, r.Latest.At)
	}
	out.End()
	out.Str("latest_sender")
	out.Text(r.Latest.SenderID)
	out.Str("latest_preview")
	out.Text(r.Latest.Preview)
	out.Str("message_seq")
	out.Number(r.HeadSeq)
	out.Str("message_pos")
	out.Number(r.HeadPos)
	out.Str("holes")
	out.Buf = events.AppendPositions(out.Buf, r.Holes)
	out.End()
	out.Str("holes_floor")
	out.Number(r.HolesFloor)
	out.Str("alls")
	out.Buf = events.AppendPositions(out.Buf, r.Alls)
	out.End()
	out.Str("alls_floor")
	out.Number(r.AllsFloor)
	out.Str("purged_pos")
	out.Number(r.PurgedPos)
	out.Str("member_count")
	out.Number(r.MemberCount)
	out.Str("labels")
	out.Buf = AppendLabels(out.Buf, r.Labels)
	out.End()
	out.Str("archived")
	out.Buf = strconv.AppendBool(out.Buf, r.Archived)
	out.End()
}
