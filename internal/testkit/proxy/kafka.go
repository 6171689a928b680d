package proxy

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Half is a half of an exchange with a broker.
type Half int

// The halves. A request that is cut is not applied. One whose answer is cut is, and the client does not know.
const (
	Request Half = iota
	Answer
)

// CutKafka ends connections in the middle of the next requests of a kind, or of their answers, so many times. What is
// returned is closed when that has happened.
func (l *Line) CutKafka(key kmsg.Key, half Half, times int) <-chan struct{} {
	return l.cutWhen(times, func(k *link, d Direction, _ []byte) int {
		if d != Direction(half) {
			return -1
		}
		for _, f := range k.frames.seen {
			if f.key == key.Int16() {
				return f.middle
			}
		}
		return -1
	})
}

// frames follows the requests and answers of one connection to a broker: each begins with its size; a request with the
// kind, its version and a number that its answer begins with. Of what is no Kafka it makes nothing of use.
type frames struct {
	parsers [2]parser
	waiting map[uint32]int16 // kinds of requests that were not answered, by number
	seen    []middle         // those whose middle is in the bytes followed last
}

// middle is a frame and where its middle is in a chunk.
type middle struct {
	key    int16
	middle int
}

// parser is how far one direction has come.
type parser struct {
	head []byte // of the frame, as far as it was seen: size, kind, version, number
	size int    // of the frame with its size field; known when head is whole
	at   int    // how much of the frame has passed
	key  int16
}

// headBytes are what tells a frame's size, kind and number, by direction.
var headBytes = [2]int{12, 8}

// follow takes the next bytes of a direction.
func (f *frames) follow(d Direction, b []byte) {
	f.seen = f.seen[:0]
	p := &f.parsers[d]
	for i := 0; i < len(b); {
		if need := headBytes[d] - len(p.head); need > 0 {
			n := min(need, len(b)-i)
			p.head = append(p.head, b[i:i+n]...)
			p.at += n
			i += n
			if n < need {
				return
			}
			f.begin(d, p)
		}
		half := max(p.size/2, headBytes[d])
		n := min(p.size-p.at, len(b)-i)
		if p.at <= half && half < p.at+n {
			f.seen = append(f.seen, middle{p.key, i + half - p.at})
		}
		p.at += n
		i += n
		if p.at >= p.size {
			*p = parser{head: p.head[:0]}
		}
	}
}

// begin reads a head.
func (f *frames) begin(d Direction, p *parser) {
	if f.waiting == nil {
		f.waiting = map[uint32]int16{}
	}
	p.size = 4 + int(binary.BigEndian.Uint32(p.head))
	if p.size < headBytes[d] || p.size > 1<<30 {
		p.size = 1 << 30 // no Kafka: nothing more to find
	}
	if d == Up {
		p.key = int16(binary.BigEndian.Uint16(p.head[4:]))
		f.waiting[binary.BigEndian.Uint32(p.head[8:])] = p.key
		return
	}
	number := binary.BigEndian.Uint32(p.head[4:])
	key, ok := f.waiting[number]
	if !ok {
		key = -1
	}
	delete(f.waiting, number)
	p.key = key
}
