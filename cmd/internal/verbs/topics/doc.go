// Package topics is `tidemark topics`: it creates the topics, and compares those of a cluster with
// their specifications.
//
//	topics.go     the verbs
//	create.go     creates the topics
//	check.go      compares them with their specifications
//	producers.go  finds producers with another partitioner
package topics
