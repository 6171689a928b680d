// Package peer is how nodes prove to each other that they are nodes. A node forwards a call about
// data that it does not have to the node that has it. It never sends a caller's token: it states
// whom it has authenticated, and proves that it is a node. Three things prove it:
//
//   - a secret that all nodes share (--peer-secret-file), with which the call is signed
//   - a certificate of an authority that vouches for nodes alone (--peer-cert, --peer-key,
//     --peer-ca)
//   - the relay key that the called node has published to the consumer group, with which the call
//     is signed. Anyone who may read the group's metadata can do that too, so it only proves hints
//     (which partitions, how many hops), and never the caller's identity.
//
// statement.go says what is signed, secrets.go reads the file, accept.go judges, transport.go
// sends.
//
//	statement.go  what is signed
//	secrets.go    reads the file of secrets
//	accept.go     judges a request
//	transport.go  sends proofs
//	doubts.go     remembers which nodes refuse this one's proof
package peer
