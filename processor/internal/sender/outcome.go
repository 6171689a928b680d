package sender

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/processor/internal/batches"
)

// land handles the outcome of a request for the first batch b of a lane: an error of the
// connection, or the broker's code.
func (s *Sender) land(l *lane, b *batch, failed error, code int16) {
	refused := kerr.ErrorForCode(code)
	switch {
	case failed != nil && (errors.Is(failed, kgo.ErrClientClosed) || errors.Is(failed, context.Canceled)):
		s.fail(kgo.ErrClientClosed)
		s.finish(l, kgo.ErrClientClosed)
	case failed != nil:
		s.repeat(l, failed)
	case refused == nil, errors.Is(refused, kerr.DuplicateSequenceNumber): // an earlier try has written it
		s.written(l, b, l.leader)
		l.sequence = batches.NextSequence(l.sequence, b.Len())
		s.finish(l, nil)
	case disowned(refused):
		s.fail(refused)
		s.finish(l, refused)
	case kerr.IsRetriable(refused) && !errors.Is(refused, kerr.CorruptMessage), errors.Is(refused, kerr.ConcurrentTransactions):
		s.repeat(l, refused)
	case l.unsure:
		// The next batch would get the number of this one. If a failed try has written this one,
		// the broker would take the next one for it.
		s.fail(errDisowned)
		s.finish(l, refused)
	case tooLarge(refused) && b.Len() > 1:
		s.split(l)
		l.settled = true
		s.resume(l)
	default:
		s.finish(l, refused)
	}
}

// disowned reports whether the broker does not know the producer any more, or not at this number.
// No other batch may have a number of it.
func disowned(err error) bool {
	for _, known := range []error{
		kerr.OutOfOrderSequenceNumber, kerr.InvalidProducerEpoch, kerr.UnknownProducerID, kerr.InvalidProducerIDMapping, kerr.ProducerFenced,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

func tooLarge(err error) bool {
	return errors.Is(err, kerr.MessageTooLarge) || errors.Is(err, kerr.RecordListTooLarge)
}
