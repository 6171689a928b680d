// Package group shares the partitions out among the members of the consumer group. It decides; it
// opens nothing, fetches nothing and publishes nothing.
//
// Its files, in the order in which to read them:
//
//	spread.go           assigning partitions, by the members' claims, stores and positions
//	spread_standbys.go  assigning standbys
//	member.go           the data that a member publishes, and the duties that the leader assigns
//	balancer.go         the client's balancer: member data in, assignments and duties out
//	routing.go          finding the URL of a partition's owner in the group's metadata
//	differ.go           finding members with other settings
package group
