// Package peer proves to other nodes that this process is a node. A node forwards a call about data
// of another node to that node. It never sends a caller's token: it states which caller it has
// authenticated, and proves that it is a node. There are three proofs:
//
//   - a secret that all nodes share (--peer-secret-file), which signs the call
//   - a certificate of an authority that signs only certificates of nodes (--peer-cert, --peer-key,
//     --peer-ca)
//   - the relay key that the called node has published to the consumer group, with which the call
//     is signed. Anyone who may read the group's metadata can do that too, so it only proves hints
//     (which partitions, how many hops), and never the caller's identity.
//
// The files:
//
//	statement.go  the statement that is signed
//	secrets.go    reads the file of secrets
//	accept.go     checks a request
//	transport.go  sends proofs
//	doubts.go     remembers which nodes refuse this one's proof
package peer
