package cache

import (
	"fmt"
	"time"
)

const dayMillis = 24 * 60 * 60 * 1000

// appendTime appends Unix milliseconds, from 1970 to 9999, as RFC 3339 with milliseconds in UTC.
func appendTime(b []byte, ms int64) []byte {
	days, rest := ms/dayMillis, ms%dayMillis
	// Years that begin in March have the leap day at their end; eras are 400 of them, from the year 0 on.
	z := days + 719468
	era := z / 146097
	doe := z % 146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	year, month, dom := yoe+era*400, mp+3, doy-(153*mp+2)/5+1
	if month > 12 {
		month -= 12
		year++
	}
	b = digits(digits(b, year/100), year%100)
	b = digits(append(b, '-'), month)
	b = digits(append(b, '-'), dom)
	b = digits(append(b, 'T'), rest/3_600_000)
	b = digits(append(b, ':'), rest/60_000%60)
	b = digits(append(b, ':'), rest/1000%60)
	b = append(b, '.', byte('0'+rest/100%10))
	return append(digits(b, rest%100), 'Z')
}

// digits appends two of them.
func digits(b []byte, v int64) []byte { return append(b, byte('0'+v/10), byte('0'+v%10)) }

// parseTime reads what appendTime wrote, and any other RFC 3339. The empty string is no time, the zero one.
func parseTime(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	const layout = "0000-00-00T00:00:00.000Z"
	if len(s) == len(layout) {
		var v [7]int // year, month, day, hour, minute, second, millisecond
		part, ok := 0, true
		for i := range len(layout) {
			if layout[i] != '0' {
				ok = ok && s[i] == layout[i]
				part++
				continue
			}
			ok = ok && s[i] >= '0' && s[i] <= '9'
			v[min(part, 6)] = 10*v[min(part, 6)] + int(s[i]-'0')
		}
		t := time.Date(v[0], time.Month(v[1]), v[2], v[3], v[4], v[5], v[6]*1e6, time.UTC)
		// Date carries over what is out of range; that is no time.
		if ok && t.Day() == v[2] && int(t.Month()) == v[1] && v[3] < 24 && v[4] < 60 && v[5] < 60 {
			return t, nil
		}
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is no time as in RFC 3339", shorten(s))
	}
	return t, nil
}
