package keys

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// id draws an id. Ids that are prefixes of others are common.
func id(t *rapid.T, label string) []byte {
	return rapid.SliceOfN(rapid.SampledFrom([]byte{'a', 'b', 0x20, 0xff}), 1, 4).Draw(t, label)
}

// TestAKeyBelongsToOneThing: keys of different things differ, and a scan of the hot records of one
// channel meets none of another.
func TestAKeyBelongsToOneThing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		channel, other := id(t, "channel"), id(t, "other channel")
		user, number := id(t, "user"), rapid.Uint32().Draw(t, "number")
		hi := uint16(number)
		of := func(c []byte) [][]byte {
			return [][]byte{
				AppendHot(nil, c, HotChannel), AppendPage(nil, c, number), AppendPage(nil, c, number+1),
				append(AppendHot(nil, c, HotGuest), user...), AppendSet(nil, c, HotUncounted, nil, hi), AppendSet(nil, c, HotUncounted, nil, hi+1),
				AppendSet(nil, c, HotMentions, user, hi), AppendSet(nil, c, HotMentions, user, hi+1), AppendSet(nil, c, HotSingles, user, hi),
				AppendLog(nil, c, number), AppendLog(nil, c, number+1), AppendIndex(nil, c, user),
				AppendReceipt(nil, c, number, 0, nil), AppendReceipt(nil, c, number, 1, nil), AppendReceipt(nil, c, number, 0, user),
			}
		}
		mine := of(channel)
		seen := map[string]bool{}
		for i, k := range mine {
			if seen[string(k)] {
				t.Fatalf("key %d, %q, names two things", i, k)
			}
			seen[string(k)] = true
		}
		if bytes.Equal(channel, other) {
			return
		}
		prefix := append(append([]byte{Hot}, channel...), 0)
		end := PrefixEnd(prefix)
		for _, k := range of(other) {
			if seen[string(k)] {
				t.Fatalf("%q is a key of channels %q and %q", k, channel, other)
			}
			if bytes.Compare(k, prefix) >= 0 && bytes.Compare(k, end) < 0 {
				t.Fatalf("a scan of channel %q finds %q of channel %q", channel, k, other)
			}
		}
	})
}

// TestKeyBytes: the keys are those of docs/formats.md, which existing stores have.
func TestKeyBytes(t *testing.T) {
	c, id := []byte("c"), []byte("id")
	for _, k := range []struct {
		got  []byte
		want string
	}{
		{AppendHot([]byte("x"), c, HotChannel), "xCc\x00c"},
		{AppendPage(nil, c, 0x01020304), "Cc\x00p\x01\x02\x03\x04"},
		{AppendSet(nil, c, HotUncounted, nil, 0x0102), "Cc\x00n\x01\x02"},
		{AppendSet(nil, c, HotMentions, id, 0x0102), "Cc\x00mid\x00\x01\x02"},
		{AppendLog(nil, c, 0x01020304), "Lc\x00\x01\x02\x03\x04"},
		{AppendIndex(nil, c, id), "Ic\x00id"},
		{AppendCut(nil, 0x0102030405060708), "K\x01\x02\x03\x04\x05\x06\x07\x08"},
		{AppendReceipt(nil, c, 0x01020304, 0x05060708, nil), "Rc\x00\x01\x02\x03\x04\x05\x06\x07\x08"},
		{AppendReceipt(nil, c, 1, 2, id), "Rc\x00\x00\x00\x00\x01\x00\x00\x00\x02id"},
	} {
		if string(k.got) != k.want {
			t.Errorf("got %q, want %q", k.got, k.want)
		}
	}
}

// TestNumbersKeepTheirOrder: blocks, pages and cuts are scanned in the order of their numbers.
func TestNumbersKeepTheirOrder(t *testing.T) {
	c := []byte("c")
	numbers := []uint32{0, 1, 255, 256, 65535, 65536, 1 << 24, 1 << 31, 1<<32 - 1}
	for name, key := range map[string]func(n uint32) []byte{
		"log":      func(n uint32) []byte { return AppendLog(nil, c, n) },
		"page":     func(n uint32) []byte { return AppendPage(nil, c, n) },
		"receipts": func(n uint32) []byte { return AppendReceipt(nil, c, n, 0, nil) },
		"cut":      func(n uint32) []byte { return AppendCut(nil, uint64(n)<<20) },
	} {
		for i := range numbers[1:] {
			if a, b := numbers[i], numbers[i+1]; bytes.Compare(key(a), key(b)) >= 0 {
				t.Errorf("%s: the key of %d is not before that of %d", name, a, b)
			}
		}
	}
}

// TestBufHasRoom: the longest keys fit in Buf.
func TestBufHasRoom(t *testing.T) {
	long := bytes.Repeat([]byte{'x'}, MaxID)
	pair := append(append(bytes.Clone(long), 0), long...) // a user and a thread
	for name, key := range map[string][]byte{
		"set of a thread": AppendSet(nil, long, HotThreadMentions, pair, 1),
		"receipts":        AppendReceipt(nil, long, 1, 1, long),
		"index":           AppendIndex(nil, long, long),
		"log":             AppendLog(nil, long, 1),
	} {
		if len(key) > Buf {
			t.Errorf("%s: a key of %d bytes, and room for %d", name, len(key), Buf)
		}
	}
}

// TestCutHi: CutHi removes what AppendSet appended, and refuses everything else.
func TestCutHi(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		user, hi := id(t, "user"), rapid.Uint16().Draw(t, "hi")
		head := AppendHot(nil, []byte("c"), HotMentions)
		got, half, err := CutHi(AppendSet(nil, []byte("c"), HotMentions, user, hi)[len(head):])
		if err != nil || !bytes.Equal(got, user) || half != hi {
			t.Fatalf("got %q, %d, %v; want %q, %d", got, half, err, user, hi)
		}
	})
	for _, rest := range []string{"", "u", "\x00\x00\x01", "u\x00\x01", "ux\x00\x01\x02\x03", "uu\x01\x00\x01"} {
		if got, hi, err := CutHi([]byte(rest)); err == nil {
			t.Errorf("%q: took %q and %d, want an error", rest, got, hi)
		}
	}
}

// TestPrefixEnd: the keys from a prefix up to its end are those that begin with it.
func TestPrefixEnd(t *testing.T) {
	all := [][]byte{{}}
	for from := 0; len(all) < 1+5+25+125; from++ { // all keys of up to three bytes
		for _, b := range []byte{0, 1, 0x7f, 0xfe, 0xff} {
			all = append(all, append(bytes.Clone(all[from]), b))
		}
	}
	for _, prefix := range all {
		was := bytes.Clone(prefix)
		end := PrefixEnd(prefix)
		if !bytes.Equal(prefix, was) {
			t.Fatalf("the prefix %x was changed to %x", was, prefix)
		}
		for _, key := range all {
			in := bytes.Compare(key, prefix) >= 0 && (end == nil || bytes.Compare(key, end) < 0)
			if in != bytes.HasPrefix(key, prefix) {
				t.Errorf("prefix %x ends at %x: that %x is in it is %v", prefix, end, key, in)
			}
		}
	}
}

// TestDigest: the digest of a set of records depends neither on the order in which they were
// written, nor on records that were removed.
func TestDigest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "records")
		hashes := make([][2]uint64, n)
		for i := range hashes {
			hashes[i] = RecordHash(fmt.Appendf(nil, "k%d", i), rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "value"))
		}
		var ascending, shuffled Digest
		for _, h := range hashes {
			ascending.Add(h)
		}
		for _, i := range rapid.Permutation(seq(n)).Draw(t, "order") {
			shuffled.Add(hashes[i])
			gone := RecordHash([]byte("gone"), []byte{byte(i)})
			shuffled.Add(gone)
			shuffled.Sub(gone)
		}
		if ascending != shuffled || ascending.Bytes() != shuffled.Bytes() {
			t.Fatalf("%x and %x", ascending, shuffled)
		}
		for _, h := range hashes {
			shuffled.Sub(h)
		}
		if shuffled != (Digest{}) {
			t.Fatalf("without records it is %x", shuffled)
		}
	})
}

func seq(n int) (out []int) {
	for i := range n {
		out = append(out, i)
	}
	return out
}

// TestDigestCarries: the sum is a single number of 128 bits, stored with its high half first.
func TestDigestCarries(t *testing.T) {
	d := Digest{^uint64(0), 0}
	d.Add([2]uint64{1, 0})
	if d != (Digest{0, 1}) {
		t.Errorf("the sum is %x", d)
	}
	if b := d.Bytes(); b[7] != 1 || b[15] != 0 {
		t.Errorf("its bytes are %x", b)
	}
	d.Sub([2]uint64{1, 0})
	if d != (Digest{^uint64(0), 0}) {
		t.Errorf("the difference is %x", d)
	}
}

// TestRecordHash: the hash depends on the boundary between key and value, and equals the hash in
// stores of earlier builds.
func TestRecordHash(t *testing.T) {
	if RecordHash([]byte("ab"), []byte("c")) == RecordHash([]byte("a"), []byte("bc")) || RecordHash([]byte("a"), []byte("b")) == RecordHash([]byte("b"), []byte("a")) {
		t.Error("two records have one hash")
	}
	var d Digest
	d.Add(RecordHash([]byte("Cgeneral\x00c"), []byte{1, 2, 3}))
	if got := fmt.Sprintf("%x", d.Bytes()); got != golden {
		t.Errorf("the digest of one record is %s, and was %s", got, golden)
	}
}

// golden is the digest of the one record in TestRecordHash.
const golden = "911dee747ca6a55dcf85da68cc0de974"
