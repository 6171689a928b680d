// Package node puts the parts of a running node together: the roles processor, cache and query in one process, behind
// one HTTP port with /healthz, /readyz and /metrics. `tidemark run` is one node; `tidemark dev` is one beside an
// embedded Kafka and Redis.
//
// What the parts do is in their own packages. Here is only who needs whom, in which order they start and stop, and what
// happens to the others when one of them fails: the node stops.
package node
