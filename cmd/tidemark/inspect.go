package main

type inspectCmd struct {
	Store inspectStoreCmd `cmd:"" help:"What a store directory contains."`
	Topic inspectTopicCmd `cmd:"" help:"Partitions and offsets of a topic, and some of its records."`
}

func (inspectCmd) Help() string {
	return `
Example:

    tidemark inspect store tidemark-data/partition-3
    tidemark inspect topic chat.messages --records 5`
}
