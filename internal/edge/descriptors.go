package edge

const (
	// mostConnections is the largest result of Connections, unless sockets need more.
	mostConnections = 65_536
	// A quarter of the process's descriptors is kept for Kafka, Redis and files: at least
	// leastKept, at most mostKept, and never more than half.
	leastKept, mostKept = 128, 8192
)

// Connections returns how many connections a process should accept, from its limit of descriptors
// and the number of sockets of its gateway (0: none).
func Connections(sockets int) int { return connections(sockets, descriptors()) }

func connections(sockets int, limit uint64) int {
	wanted := max(mostConnections, sockets+sockets/4)
	if limit == 0 || limit > 1<<30 {
		return wanted
	}
	all := int(limit)
	kept := min(max(all/4, leastKept), mostKept, all/2)
	return max(min(wanted, all-kept), 1)
}
