package main

import (
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/projections"
)

// All that the fold sees of the configuration has a flag, with the design's value where it is left
// out.
func TestSettingsHaveFlags(t *testing.T) {
	parse := func(args ...string) (projections.Settings, error) {
		var f verbs.FoldFlags
		k, err := kong.New(&f)
		if err != nil {
			t.Fatal(err)
		}
		_, err = k.Parse(args)
		return f.Settings(), err
	}
	if s, err := parse(); err != nil || s != projections.DefaultSettings() {
		t.Errorf("%v, %v", s, err)
	}
	want := projections.Settings{FanoutLimit: 7, ReceiptLimit: 8, SendMarksRead: false, IndexRetention: 36 * time.Hour.Milliseconds(), TrimLog: true}
	if s, err := parse("--fanout-limit=7", "--receipt-limit=8", "--send-marks-read=false", "--index-retention=36h", "--trim-log"); err != nil || s != want {
		t.Errorf("%v, %v", s, err)
	}
	for _, bad := range []string{"0s", "-1h", "90m", "90d", "x"} {
		if _, err := parse("--index-retention=" + bad); err == nil || !strings.Contains(err.Error(), "--index-retention") {
			t.Errorf("--index-retention %s: %v", bad, err)
		}
	}
}
