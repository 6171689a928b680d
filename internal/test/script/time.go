package script

import (
	"fmt"
	"regexp"
	"strconv"
)

const (
	second = 1000
	minute = 60 * second
	hour   = 60 * minute
	day    = 24 * hour
)

var (
	timePattern = regexp.MustCompile(`^(?:(\d{1,6})d\+)?(\d{1,2}):(\d\d):(\d\d)(?:\.(\d\d\d))?$`)
	spanPattern = regexp.MustCompile(`^(\d{1,6})(ms|s|m|h|d)$`)
)

// FormatTime formats a time in Unix milliseconds as a duration since Start.
func FormatTime(ms int64) string {
	sign := ""
	ms -= Start
	if ms < 0 {
		sign, ms = "-", -ms
	}
	out := fmt.Sprintf("%d:%02d:%02d", ms%day/hour, ms%hour/minute, ms%minute/second)
	if ms >= day {
		out = fmt.Sprintf("%dd+%s", ms/day, out)
	}
	if ms%second != 0 {
		out = fmt.Sprintf("%s.%03d", out, ms%second)
	}
	return sign + out
}

// ParseTime parses the output of FormatTime for a time at or after Start.
func ParseTime(s string) (int64, error) {
	m := timePattern.FindStringSubmatch(s)
	if m == nil {
		return 0, fmt.Errorf("%q is no time: write 0:00:05, or 8d+0:00:05.250", s)
	}
	ms := int64(Start)
	for i, unit := range []int64{day, hour, minute, second, 1} {
		if m[i+1] != "" {
			n, err := strconv.ParseInt(m[i+1], 10, 64)
			if err != nil {
				return 0, err // the pattern bounds the digits
			}
			ms += n * unit
		}
	}
	return ms, nil
}

// ParseSpan parses a duration, such as "250ms", "5s", "10m", "2h" or "90d", into milliseconds.
func ParseSpan(s string) (int64, error) {
	m := spanPattern.FindStringSubmatch(s)
	if m == nil {
		return 0, fmt.Errorf("%q is no span of time: write 250ms, 5s, 10m, 2h or 90d", s)
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return 0, err // the pattern bounds the digits
	}
	unit := map[string]int64{"ms": 1, "s": second, "m": minute, "h": hour, "d": day}[m[2]]
	return n * unit, nil
}
