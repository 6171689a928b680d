package proxy

import "encoding/binary"

// frames follows the requests and answers of one connection to a broker. Each begins with its size.
// In a request the kind, the version and a number follow; its answer begins with the same number.
// For other protocols its results are meaningless.
type frames struct {
	parsers [2]parser
	waiting map[uint32]int16 // kinds of unanswered requests, by number
	seen    []middle         // frames whose middle is in the latest bytes
}

// middle is a frame and the place of its middle in a chunk.
type middle struct {
	key    int16
	middle int
}

// parser is the state of one direction.
type parser struct {
	head []byte // the part of the frame's head seen so far: size, kind, version, number
	size int    // of the frame with its size field; known when head is whole
	at   int    // how much of the frame has passed
	key  int16
}

// headBytes is the length of a frame's head (size, kind and number), by direction.
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

// begin parses a head.
func (f *frames) begin(d Direction, p *parser) {
	if f.waiting == nil {
		f.waiting = map[uint32]int16{}
	}
	p.size = 4 + int(binary.BigEndian.Uint32(p.head))
	if p.size < headBytes[d] || p.size > 1<<30 {
		p.size = 1 << 30 // not Kafka: nothing more to find
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
