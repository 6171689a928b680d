package outputs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/processor/internal/sender"
)

// A new owner fences the former owners of a partition (fence.go), so it must know their producers.
// Their ids are in the metadata of the group's offsets: an owner publishes nothing of a partition
// before the group has its producer's id there. The coordinator accepts offsets only from members
// of the current generation, and an owner reads them once its own generation has begun. So it finds
// every producer that has published anything and did not leave cleanly, whatever the clocks show
// and however often owners change. A former owner cannot return with another id, because the group
// would not accept that id.

// Roster tracks, for each owned partition, which producers may still have records on their way, and
// whether the group has this member's id.
type Roster struct {
	mu     sync.Mutex
	self   int64 // id of the producer; -1: none at the moment
	of     map[int32]*listed
	fenced map[Fence]bool
}

type listed struct {
	former  []int64       // producers of former owners that are not fenced everywhere yet, oldest first
	named   chan struct{} // closed once the group has self
	has     bool          // the group has self, and named is closed
	spoiled bool          // abandoned records of self may be on their way
}

// maxFormer is how many former producers are remembered. Each belongs to one owner that did not
// leave in order.
const maxFormer = 16

// NewRoster creates a roster without partitions and producer.
func NewRoster() *Roster { return &Roster{self: -1, of: map[int32]*listed{}, fenced: map[Fence]bool{}} }

// Take adds an assigned partition. metadata is the metadata of its committed offsets.
func (r *Roster) Take(n int32, metadata ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of[n] == nil {
		r.of[n] = &listed{named: make(chan struct{})}
	}
	for _, s := range metadata {
		for _, id := range parseListed(s) {
			r.suspect(r.of[n], id)
		}
	}
}

// suspect adds a former producer. The caller holds mu.
func (r *Roster) suspect(of *listed, id int64) {
	if id < 0 || id == r.self || slices.Contains(of.former, id) {
		return
	}
	of.former = append(of.former, id)
	of.former = of.former[max(0, len(of.former)-maxFormer):]
}

// drop removes partitions that are not owned any more.
func (r *Roster) drop(numbers []int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range numbers {
		delete(r.of, n)
	}
}

// Spoil records that a worker of the partition ended while records of it were in flight.
func (r *Roster) Spoil(n int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if of := r.of[n]; of != nil {
		of.spoiled = true
	}
}

// SpoiledOf reports whether any of the partitions is spoiled.
func (r *Roster) SpoiledOf(numbers []int32) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(numbers, func(n int32) bool { return r.of[n] != nil && r.of[n].spoiled })
}

// Become sets the producer's id, or -1 for none. The previous one becomes a former producer, and
// nothing may be published until the group has the new id.
func (r *Roster) Become(id int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.self
	r.self = id
	for _, of := range r.of {
		if of.has {
			of.named, of.has = make(chan struct{}), false
			r.suspect(of, old)
		}
		of.former = slices.DeleteFunc(of.former, func(f int64) bool { return f == id })
	}
}

// Entry returns which producer may publish records of a partition. If wait is nil, they may be
// published, once the former producers (if there are any) are fenced. Otherwise call Entry again
// when wait is closed.
func (r *Roster) Entry(n int32) (self int64, former bool, wait <-chan struct{}, owned bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.of[n]
	switch {
	case of == nil:
		return -1, false, nil, false
	case !of.has:
		return -1, false, of.named, true
	}
	return r.self, len(of.former) > 0, nil, true
}

// producer returns the id of the producer, or -1.
func (r *Roster) producer() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.self
}

// unnamed returns the partitions for which the group does not have the producer's id yet.
func (r *Roster) unnamed() (out []int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.self < 0 {
		return nil
	}
	for n, of := range r.of {
		if !of.has {
			out = append(out, n)
		}
	}
	return out
}

// texts returns the metadata for the offsets of partitions, and the producer that it names. The
// texts of partitions that are left cleanly do not name it.
func (r *Roster) texts(numbers []int32, leaving bool) (texts map[int32]string, self int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	texts = make(map[int32]string, len(numbers))
	for _, n := range numbers {
		if of := r.of[n]; of != nil {
			id := r.self
			if leaving && !of.spoiled {
				id = -1
			}
			texts[n] = formatListed(id, of.former)
		}
	}
	return texts, r.self
}

// name records that the group has a producer's id for partitions.
func (r *Roster) name(numbers []int32, self int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if self < 0 || self != r.self {
		return
	}
	for _, n := range numbers {
		if of := r.of[n]; of != nil && !of.has {
			of.has = true
			close(of.named)
		}
	}
}

// Missing returns the fences that must be raised before records of a partition are published, each
// with a record for it. Topics that are not compacted need no fence.
func (r *Roster) Missing(n int32, records sender.Records, compacted ...string) map[Fence]*kgo.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.of[n]
	if of == nil {
		return nil
	}
	missing := map[Fence]*kgo.Record{}
	for i := range int32(records.Len()) { //nolint:gosec // a drain has fewer
		topic, partition := records.Place(i)
		if !slices.Contains(compacted, topic) {
			continue
		}
		for _, id := range of.former {
			at := Fence{id, topic, partition}
			if r.fenced[at] || missing[at] != nil {
				continue
			}
			missing[at] = new(kgo.Record)
			records.Read(i, missing[at])
		}
	}
	return missing
}

// Raised records raised fences. It drops a former producer once that is fenced from every output
// partition that may have its values: from the partition's own number in tidemark.channels, and
// from all partitions of tidemark.unread.
func (r *Roster) Raised(fences map[Fence]*kgo.Record, unread, channels string, partitions int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := map[int64]bool{}
	for at := range fences {
		r.fenced[at] = true
		ids[at.Producer] = true
	}
	for id := range ids {
		everywhere := true
		for q := range partitions {
			everywhere = everywhere && r.fenced[Fence{id, unread, q}]
		}
		for n, of := range r.of {
			if everywhere && r.fenced[Fence{id, channels, n}] {
				of.former = slices.DeleteFunc(of.former, func(f int64) bool { return f == id })
			}
		}
	}
}

// listedFormat begins the metadata of the offsets. Other texts, such as those of other clients, are
// ignored.
const listedFormat = "tidemark/1"

func formatListed(self int64, former []int64) string {
	b := []byte(listedFormat)
	for _, id := range append(slices.Clone(former), self) {
		if id >= 0 {
			b = strconv.AppendInt(append(b, ' '), id, 10)
		}
	}
	return string(b)
}

// parseListed returns the producers that a text names, oldest first.
func parseListed(text string) (ids []int64) {
	words := strings.Fields(text)
	if len(words) == 0 || words[0] != listedFormat {
		return nil
	}
	for _, w := range words[1:] {
		if id, err := strconv.ParseInt(w, 10, 64); err == nil && id >= 0 {
			ids = append(ids, id)
		}
	}
	return ids[max(0, len(ids)-maxFormer):]
}

// String is for logs.
func (f Fence) String() string {
	return fmt.Sprintf("producer %d at %s/%d", f.Producer, f.Topic, f.Partition)
}
