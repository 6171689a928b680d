package main

type inspectCmd struct {
	Store    inspectStoreCmd    `cmd:"" help:"What a store directory contains, or what it knows of a channel or user."`
	Snapshot inspectSnapshotCmd `cmd:"" help:"The same of snapshots in a directory or in S3."`
	Topic    inspectTopicCmd    `cmd:"" help:"Partitions and offsets of a topic, and some of its records."`
}

func (inspectCmd) Help() string {
	return `
Example:

    tidemark inspect store tidemark-data/partition-3
    tidemark inspect snapshot s3://backups/tidemark --channel general
    tidemark inspect topic chat.messages --records 5`
}
