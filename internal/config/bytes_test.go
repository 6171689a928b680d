package config

import "testing"

func TestBytesReadsWhatPeopleWrite(t *testing.T) {
	for text, want := range map[string]Bytes{
		"0": 0, "1024": 1024, "7B": 7, "1KiB": 1024, "1kb": 1024, "512MiB": 512 << 20, "512M": 512 << 20, "512 mib": 512 << 20,
		"1.5GiB": 3 << 29, "2G": 2 << 30, "1TiB": 1 << 40,
	} {
		var b Bytes
		if err := b.UnmarshalText([]byte(text)); err != nil || b != want {
			t.Errorf("%q: %d, %v; want %d", text, b, err, want)
		}
	}
}

func TestBytesRefusesTheRest(t *testing.T) {
	for _, text := range []string{"", "GiB", "-1", "1.5", "1.0001KiB", "5ZiB", "1GiB2", "NaN", "Inf", "1e30GiB", "0x10"} {
		var b Bytes
		if err := b.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken as %d", text, b)
		}
	}
}

func TestBytesPrintsWhatItReads(t *testing.T) {
	for b, want := range map[Bytes]string{0: "0B", 1023: "1023B", 1 << 10: "1KiB", 3 << 29: "1.5GiB", 1 << 30: "1GiB", 512 << 20: "512MiB"} {
		if got := b.String(); got != want {
			t.Errorf("%d prints %q, want %q", int64(b), got, want)
		}
		var back Bytes
		if err := back.UnmarshalText([]byte(want)); err != nil || back != b {
			t.Errorf("%q reads back as %d, %v", want, back, err)
		}
	}
}
