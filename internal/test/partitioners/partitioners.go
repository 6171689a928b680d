package partitioners

import (
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"strings"

	"github.com/tidemark/tidemark/events"
)

// partitioners have the partition of a key among n, by the name in the table.
var partitioners = map[string]func(key []byte, n int32) int32{
	"murmur2": events.PartitionOf,
	"CRC32":   func(key []byte, n int32) int32 { return int32(crc32.ChecksumIEEE(key) % uint32(n)) },
	"FNV-1a": func(key []byte, n int32) int32 {
		h := fnv.New32a()
		h.Write(key) // never fails
		return max(int32(h.Sum32())%n, -(int32(h.Sum32()) % n))
	},
}

// row is a row of the table: a client, its default, what to set, and how that is known: "run" if a
// test runs it, otherwise with a link to the source.
type row struct{ client, byDefault, set, known string }

// tableOf returns the table of clients of docs/events.md.
func tableOf(page string) (list []row, err error) {
	_, table, ok := strings.Cut(page, "| client | default for records with a key | what to set | known from |\n")
	if !ok {
		return nil, fmt.Errorf("docs/events.md has no table of clients")
	}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "|") {
			break
		}
		if strings.HasPrefix(line, "|-") {
			continue
		}
		if len(cells) != 4 {
			return nil, fmt.Errorf("docs/events.md: a row with %d cells: %s", len(cells), line)
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		list = append(list, row{cells[0], cells[1], cells[2], cells[3]})
	}
	return list, nil
}
