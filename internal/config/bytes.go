package config

import (
	"fmt"
	"strconv"
	"strings"
)

// Bytes is a size that people write as 512MiB, 2GiB or 1073741824. Units are binary, and their i is
// optional.
type Bytes int64

var units = []struct {
	name string
	size Bytes
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// UnmarshalText reads a size. It refuses negative ones and fractions of a byte.
func (b *Bytes) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	number, size := s, Bytes(1)
	for _, u := range units {
		for _, suffix := range []string{u.name, u.name[:1] + "B", u.name[:1]} {
			if n, ok := cutSuffixFold(s, suffix); ok && size == 1 {
				number, size = strings.TrimSpace(n), u.size
			}
		}
	}
	if n, ok := cutSuffixFold(number, "B"); ok && size == 1 {
		number = n
	}
	f, err := strconv.ParseFloat(number, 64)
	if total := f * float64(size); err != nil || !(total >= 0 && total < 1<<62) || total != float64(Bytes(total)) {
		return fmt.Errorf("%q is not a size: write it as 512MiB, 2GiB or a number of bytes", s)
	}
	*b = Bytes(f * float64(size))
	return nil
}

func cutSuffixFold(s, suffix string) (string, bool) {
	if cut := len(s) - len(suffix); cut > 0 && strings.EqualFold(s[cut:], suffix) {
		return s[:cut], true
	}
	return s, false
}

// String returns the size in the largest unit, with one decimal if it is not whole.
func (b Bytes) String() string {
	for _, u := range units {
		if b >= u.size {
			return strings.TrimSuffix(strconv.FormatFloat(float64(b)/float64(u.size), 'f', 1, 64), ".0") + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10) + "B"
}
