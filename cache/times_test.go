package cache

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTimes(t *testing.T) {
	check := func(t rapid.TB, ms int64) {
		want := time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
		got := string(appendTime(nil, ms))
		if got != want {
			t.Fatalf("%d: got %s, want %s", ms, got, want)
		}
		if back, err := parseTime(got); err != nil || back != time.UnixMilli(ms).UTC() {
			t.Fatalf("%s reads as %v, %v", got, back, err)
		}
	}
	const day = 24 * 3600 * 1000
	for d := int64(0); d < 400*366; d++ { // each day of an era, at its last millisecond
		check(t, d*day+day-1)
	}
	check(t, 0)
	check(t, 253402300799999)
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.Int64Range(0, 253402300799999).Draw(t, "ms")) })
}

func TestParseTime(t *testing.T) {
	for s, want := range map[string]int64{
		"2026-01-02T03:04:05.678Z": t0, "2026-01-02T03:04:05Z": t0 - 678, "2026-01-02T04:04:05.678+01:00": t0,
	} {
		if got, err := parseTime(s); err != nil || got.UnixMilli() != want {
			t.Errorf("%s: got %v, %v", s, got, err)
		}
	}
	for _, s := range []string{
		"yesterday", "2026-01-02", "2026-13-02T03:04:05.678Z", "2026-02-30T03:04:05.678Z", "2026-01-02T24:04:05.678Z",
		"2026-01-02T03:60:05.678Z", "2026-01-02T03:04:60.678Z", "2026-01-02 03:04:05.678Z", "2026-01-02T03:04:0a.678Z", "2026-00-02T03:04:05.678Z",
	} {
		if got, err := parseTime(s); err == nil {
			t.Errorf("%s was read as %v", s, got)
		}
	}
	if got, err := parseTime(""); err != nil || !got.IsZero() {
		t.Errorf("no time: %v, %v", got, err)
	}
}
