package packed

import (
	"encoding/binary"
	"errors"
	"fmt"
)

var errShort = errors.New("it ends in the middle")

func appendUint(b []byte, v uint32) []byte { return binary.AppendUvarint(b, uint64(v)) }

func appendOffset(b []byte, v int64) []byte {
	return binary.AppendUvarint(b, uint64(v)) //nolint:gosec // bits, which come back as they were
}

// appendPositions appends ascending positions: the number of runs, and for each run twice the
// distance to the end of the run before (0 before the first), plus 1 if the run has more than one
// position; then how many more.
func appendPositions(b []byte, list []uint32) []byte {
	runs := 0
	for i := range list {
		if i == 0 || list[i] > list[i-1]+1 {
			runs++
		}
	}
	b = binary.AppendUvarint(b, uint64(runs)) //nolint:gosec // not negative
	end := uint32(0)
	for i := 0; i < len(list); {
		j := i + 1
		for j < len(list) && list[j] <= list[j-1]+1 {
			j++
		}
		head, more := 2*uint64(list[i]-end), list[j-1]-list[i]
		if more > 0 {
			head++
		}
		if b = binary.AppendUvarint(b, head); more > 0 {
			b = appendUint(b, more)
		}
		i, end = j, list[j-1]
	}
	return b
}

// appendLabels appends the number of labels, and the length and the bytes of each.
func appendLabels(b []byte, labels [][]byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(labels)))
	for _, l := range labels {
		b = append(binary.AppendUvarint(b, uint64(len(l))), l...)
	}
	return b
}

// input is the rest of a value. Once err is set, results of its methods are meaningless.
type input struct {
	b   []byte
	err error
}

func (in *input) fail(err error) {
	if in.err == nil {
		in.err = err
	}
	in.b = nil
}

func (in *input) uvarint() uint64 {
	v, n := binary.Uvarint(in.b)
	if n <= 0 {
		in.fail(errShort)
		return 0
	}
	in.b = in.b[n:]
	return v
}

func (in *input) uint32() uint32 {
	v := in.uvarint()
	if v >= 1<<32 {
		in.fail(fmt.Errorf("%d has more than 32 bits", v))
	}
	return uint32(v) //nolint:gosec // checked
}

func (in *input) offset() int64 { return int64(in.uvarint()) } //nolint:gosec // bits

func (in *input) time() int64 {
	v, n := binary.Varint(in.b)
	if n <= 0 {
		in.fail(errShort)
		return 0
	}
	in.b = in.b[n:]
	return v
}

// bytes returns the next n bytes.
func (in *input) bytes(n uint64) []byte {
	if n > uint64(len(in.b)) {
		in.fail(errShort)
		return nil
	}
	v := in.b[:n:n]
	in.b = in.b[n:]
	return v
}

func (in *input) text() []byte { return in.bytes(in.uvarint()) }

func (in *input) positions(list []uint32) []uint32 {
	end := uint64(0)
	for range in.uvarint() {
		head := in.uvarint()
		lo := end + head/2
		end = lo
		if head%2 != 0 {
			end += in.uvarint()
		}
		if in.err != nil {
			return list
		}
		if end < lo || end >= 1<<32 || uint64(len(list))+end-lo >= maxListed {
			in.fail(fmt.Errorf("positions %d to %d are not in ascending order", lo, end))
			return list
		}
		for pos := lo; pos <= end; pos++ {
			list = append(list, uint32(pos))
		}
	}
	return list
}

// maxListed limits the allocations for a damaged value. Lists have at most 1,000 positions.
const maxListed = 1 << 16

func (in *input) labels() (list [][]byte) {
	for range in.uvarint() {
		if list = append(list, in.text()); in.err != nil {
			return nil
		}
	}
	return list
}

// end returns an error unless the value ends here.
func (in *input) end() error {
	if in.err == nil && len(in.b) > 0 {
		return fmt.Errorf("%d bytes are left over", len(in.b))
	}
	return in.err
}
