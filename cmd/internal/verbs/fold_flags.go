package verbs

import (
	"fmt"
	"time"

	"github.com/tidemark/tidemark/projections"
)

// FoldFlags are the settings of the fold. A node refuses a store that was folded with other
// settings.
type FoldFlags struct {
	FanoutLimit  uint32 `default:"50" placeholder:"N" help:"Up to this many members, a message makes a delta for each member of its channel; 0 = never (${default})."`
	ReceiptLimit uint32 `default:"50" placeholder:"N" help:"Up to this many members, a channel's messages have receipts of their own (${default})."`

	SendMarksRead  bool       `default:"true" placeholder:"BOOL" help:"Sending a message marks the channel as read up to it (${default}); with --send-marks-read=false the pointer does not move."`
	IndexRetention wholeHours `default:"2160h" placeholder:"DURATION" help:"How long events can name a message by its id, in log time and whole hours (${default}, 90 days)."`
	TrimLog        bool       `help:"Remove ids, senders and texts of messages that no event can name any more, a week after --index-retention; a new data directory only."`
}

// Settings are the flags' values.
func (f FoldFlags) Settings() projections.Settings {
	return projections.Settings{
		FanoutLimit: f.FanoutLimit, ReceiptLimit: f.ReceiptLimit, SendMarksRead: f.SendMarksRead,
		IndexRetention: time.Duration(f.IndexRetention).Milliseconds(), TrimLog: f.TrimLog,
	}
}

// wholeHours is a positive duration of whole hours, the unit in which nodes publish their settings.
type wholeHours time.Duration

// UnmarshalText reads what time.ParseDuration does.
func (h *wholeHours) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil {
		return err
	}
	if d <= 0 || d%time.Hour != 0 {
		return fmt.Errorf("%s: must be a positive number of whole hours, such as 2160h", text)
	}
	*h = wholeHours(d)
	return nil
}
