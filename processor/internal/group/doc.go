// Package group shares the partitions out among the members of the consumer group. It decides; it
// opens nothing, fetches nothing and publishes nothing.
//
// Its files, in the order in which to read them:
//
//	spread.go           which member owns which partition, by the members' claims, stores, positions
//	spread_standbys.go  who tails which partition for its owner
//	member.go           what a member publishes about itself, and the duties that the leader gives it
//	balancer.go         the client's balancer: member data in, assignments and duties out
//	routing.go          at which URL the owner of a partition answers, from the group's own metadata
//	differ.go           which members fold with other settings
package group
