// Package ingest writes events for producers without a Kafka client.
//
//	publish.go   Publish: events as they were sent
//	markall.go   MarkAllRead: a read for every channel that has something unread
//	toread.go    the channels of MarkAllRead
package ingest
