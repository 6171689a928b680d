package script

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/tidemark/tidemark/projections"
)

// Settings returns the settings that a story names after its command, and defaults for the others.
func Settings(t testing.TB, d *datadriven.TestData) projections.Settings {
	t.Helper()
	s := projections.DefaultSettings()
	for _, arg := range d.CmdArgs {
		var err error
		var n uint64
		switch arg.Key {
		case "fanout-limit":
			n, err = strconv.ParseUint(arg.Vals[0], 10, 32)
			s.FanoutLimit = uint32(n)
		case "receipt-limit":
			n, err = strconv.ParseUint(arg.Vals[0], 10, 32)
			s.ReceiptLimit = uint32(n)
		case "send-marks-read":
			s.SendMarksRead, err = strconv.ParseBool(arg.Vals[0])
		case "trim-log":
			s.TrimLog, err = strconv.ParseBool(arg.Vals[0])
		case "index-retention":
			s.IndexRetention, err = ParseSpan(arg.Vals[0])
		default:
			err = fmt.Errorf("no such setting: %s", arg.Key)
		}
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
	}
	return s
}
