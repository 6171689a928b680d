// Package synapse plays users' actions on a real Synapse. `tidemark import` imports it half way,
// `tidemark bridge` follows the rest, and the tests compare the result with the actions. It has
// tests only.
//
//	synapse_test.go  the test: play, import, follow, kill, compare
//	world_test.go    users, rooms, and what was done there
//	acts_test.go     actions of users, by the client API
//	random_test.go   random actions
//	museum_test.go   stories of package museum, as actions
//	truth_test.go    the numbers by what was done
//	judge_test.go    the numbers of Tidemark, of Synapse and of tidemark compare
//	causes_test.go   which reasons of a difference what was done allows
//	servers_test.go  the servers and the command, which are killed
//	tour_test.go     the tour of docs/import/synapse.md, typed into a shell
package synapse
