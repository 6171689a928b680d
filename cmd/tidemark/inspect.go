package main

type inspectCmd struct {
	Topic inspectTopicCmd `cmd:"" help:"Partitions and offsets of a topic, and some of its records."`
}

func (inspectCmd) Help() string {
	return `
Example:

    tidemark inspect topic chat.messages --records 5`
}
