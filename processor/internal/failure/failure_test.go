package failure

import (
	"errors"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/tidemark/tidemark/projections"
)

// TestWhichFailuresMayPass: a partition is opened again after a failure unless only a person can
// help, however often the error was wrapped on its way. A marked error keeps its text and its
// cause.
func TestWhichFailuresMayPass(t *testing.T) {
	plain := errors.New("the disk does not answer")
	corrupt := error(&projections.CorruptError{})
	mismatch := error(&projections.MismatchError{})
	for _, c := range []struct {
		of   string
		mark func(error) error
		err  error
		want bool
	}{
		{"unmarked", func(err error) error { return err }, plain, false},
		{"passing", Passing, plain, true},
		{"opening", OfOpening, plain, true},
		{"opening", OfOpening, corrupt, false},
		{"opening", OfOpening, mismatch, false},
		{"store", OfStore, plain, true},
		{"store", OfStore, corrupt, false},
		{"publishing", OfPublishing, plain, true},
		{"publishing", OfPublishing, kerr.NotLeaderForPartition, true},
		{"publishing", OfPublishing, kerr.MessageTooLarge, false},
		{"publishing", OfPublishing, kerr.RecordListTooLarge, false},
		{"publishing", OfPublishing, kerr.InvalidRecord, false},
		{"publishing", OfPublishing, kerr.UnsupportedForMessageFormat, false},
	} {
		wrapped := fmt.Errorf("partition 3: %w", c.err)
		marked := c.mark(wrapped)
		if got := MayPass(fmt.Errorf("once more: %w", marked)); got != c.want {
			t.Errorf("%s, %T: may pass %v, want %v", c.of, c.err, got, c.want)
		}
		if !errors.Is(marked, c.err) || marked.Error() != wrapped.Error() {
			t.Errorf("%s, %T: became %q, want %q with its cause", c.of, c.err, marked, wrapped)
		}
	}
}
