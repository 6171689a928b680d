package apidoc

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/query/queryv1"
)

// stream is a topic with the schema of its values.
type stream struct {
	topic string
	value protoreflect.MessageDescriptor
	key   string
	// Programs of others write input topics, and read the other topics.
	input bool
}

var streams = []stream{
	{events.TopicMessages, (&eventsv1.MessageEvent{}).ProtoReflect().Descriptor(), "channel_id", true},
	{events.TopicReads, (&eventsv1.ReadEvent{}).ProtoReflect().Descriptor(), "channel_id", true},
	{events.TopicDeliveries, (&eventsv1.DeliveryEvent{}).ProtoReflect().Descriptor(), "channel_id", true},
	{events.TopicUnread, (&eventsv1.UnreadDelta{}).ProtoReflect().Descriptor(), "user_id 0x00 channel_id, of a thread followed by 0x00 thread_id", false},
	{events.TopicChannels, (&eventsv1.ChannelRecord{}).ProtoReflect().Descriptor(), "channel_id", false},
	{events.TopicReceipts, (&eventsv1.ReceiptsRecord{}).ProtoReflect().Descriptor(), "channel_id", false},
}

// frame is a frame of the socket: its type, and its fields with their schemas.
type frame struct {
	name   string
	client bool // whether the client sends it
	fields object
	needs  []string
}

// AsyncAPI describes the topics and the socket.
func AsyncAPI(notes map[string]string) map[string]any {
	s := &schemas{notes, object{}}
	channels, operations, messages := object{}, object{}, object{}
	for _, st := range streams {
		id := string(st.value.Name())
		messages[id] = object{
			"name": id, "contentType": "application/x-protobuf", "summary": notes[string(st.value.FullName())],
			"payload":  s.add(st.value),
			"bindings": object{"kafka": object{"key": object{"type": "string", "description": st.key}, "bindingVersion": "0.5.0"}},
		}
		if st.input {
			messages[id].(object)["contentType"] = "application/json"
		}
		operation(channels, operations, st.topic, "kafka", st.input, id)
	}
	var client, server []string
	for _, f := range frames(s) {
		fields := object{"type": object{"type": "string", "const": f.name}}
		for k, v := range f.fields {
			fields[k] = v
		}
		needs := []any{"type"}
		for _, n := range f.needs {
			needs = append(needs, n)
		}
		id := f.name
		if f.client {
			id = "client." + id // both sides send read_state
			client = append(client, id)
		} else {
			server = append(server, id)
		}
		messages[id] = object{
			"name": f.name, "contentType": "application/json",
			"payload": object{"type": "object", "properties": fields, "required": needs, "additionalProperties": false},
		}
	}
	operation(channels, operations, "/v1/socket", "node", true, client...)
	operation(channels, operations, "/v1/socket", "node", false, server...)
	return object{
		"asyncapi": "3.0.0",
		"info": object{
			"title": "Tidemark", "version": "v1",
			"description": "Topics and sockets. Generated from events/proto; docs/events.md and docs/gateway.md have the rules. Seen from a program that writes events, reads what is published, or is the client of a socket.",
		},
		"servers": object{
			"kafka": object{"host": "127.0.0.1:9092", "protocol": "kafka"},
			"node":  object{"host": "127.0.0.1:8080", "protocol": "ws"},
		},
		"channels": channels, "operations": operations,
		"components": object{"schemas": s.all, "messages": messages},
	}
}

// operation adds messages to a channel, and whether a program sends or receives them.
func operation(channels, operations object, address, server string, send bool, names ...string) {
	id := address
	if server == "node" {
		id = "socket"
	}
	c, ok := channels[id].(object)
	if !ok {
		c = object{"address": address, "servers": []any{object{"$ref": "#/servers/" + server}}, "messages": object{}}
		channels[id] = c
	}
	var list []any
	for _, n := range names {
		c["messages"].(object)[n] = object{"$ref": "#/components/messages/" + n}
		list = append(list, object{"$ref": "#/channels/" + id + "/messages/" + n})
	}
	action := "receive"
	if send {
		action = "send"
	}
	operations[action+" "+id] = object{"action": action, "channel": object{"$ref": "#/channels/" + id}, "messages": list}
}

// frames returns the frames of docs/gateway.md.
func frames(s *schemas) []frame {
	text, flag, number := object{"type": "string"}, object{"type": "boolean"}, object{"type": "integer", "minimum": 0}
	texts := object{"type": "array", "items": text}
	id := object{"description": "The client's name for the frame; its answer has the same.", "oneOf": []any{text, object{"type": "integer"}}}
	at := object{"type": "string", "format": "date-time"}
	list := func(items object) object { return object{"type": "array", "items": items} }
	closed := func(properties object) object {
		return object{"type": "object", "properties": properties, "additionalProperties": false}
	}
	of := func(md protoreflect.MessageDescriptor) object { return s.add(md) }
	unread := of((&queryv1.ChannelUnread{}).ProtoReflect().Descriptor())
	thread := of((&queryv1.ThreadUnread{}).ProtoReflect().Descriptor())
	totals := of((&queryv1.Totals{}).ProtoReflect().Descriptor())
	byLabel := object{"type": "object", "additionalProperties": totals}
	reader := closed(object{"user_id": text, "message_id": text, "seq": number, "at": at, "with_threads": flag})
	// An update has the fields of a channel or a thread, and these besides.
	update := object{"totals": totals, "totals_by_label": byLabel, "thread_id": text, "followed": flag, "instance_id": text, "stamp": text, "evaluated_at": at}
	for _, name := range []string{"ChannelUnread", "ThreadUnread"} {
		for k, v := range s.all[name].(object)["properties"].(object) {
			if k != "as_of" && k != "following" {
				update[k] = v
			}
		}
	}
	receipts := object{"channel_id": text, "readers": list(reader)}
	command := func(name string, needs []string, fields object) frame {
		fields["id"] = id
		return frame{name, true, fields, needs}
	}
	channel := []string{"channel_id"}
	return []frame{
		command("auth", []string{"token"}, object{"token": text}),
		command("channel.focus", channel, object{"channel_id": text, "thread_id": text}),
		command("channel.blur", channel, object{"channel_id": text, "thread_id": text}),
		command("mark_read", channel, object{"channel_id": text, "message_id": text, "thread_id": text, "seq": number, "read_epoch": number, "private": flag, "with_threads": flag}),
		command("mark_unread", channel, object{"channel_id": text, "message_id": text, "thread_id": text, "head_seq": number, "seq": number}),
		command("messages_read", []string{"channel_id", "message_ids"}, object{"channel_id": text, "message_ids": texts, "thread_id": text, "private": flag}),
		command("thread.follow", []string{"channel_id", "thread_id"}, object{"channel_id": text, "thread_id": text}),
		command("thread.unfollow", []string{"channel_id", "thread_id"}, object{"channel_id": text, "thread_id": text}),
		command("channel.mute", []string{"channel_id", "muted"}, object{"channel_id": text, "muted": flag}),
		command("channel.notify", channel, object{"channel_id": text, "level": object{"type": "string", "enum": []any{"ALL", "MENTIONS", "NONE"}}, "until": at, "ignore_mention_all": flag}),
		command("channel.flag", []string{"channel_id", "flagged"}, object{"channel_id": text, "flagged": flag, "head_seq": number}),
		command("channel.file", []string{"channel_id", "archived"}, object{"channel_id": text, "archived": flag, "keep": flag, "head_seq": number}),
		command("message.hide", channel, object{"channel_id": text, "message_ids": texts, "up_to_seq": number}),
		command("message.viewed", []string{"channel_id", "message_ids"}, object{"channel_id": text, "message_ids": texts}),
		command("line.set", channel, object{"channel_id": text, "message_id": text, "seq": number}),
		command("labels.set", []string{"channel_id", "labels"}, object{"channel_id": text, "labels": texts}),
		command("read_state", channel, object{"channel_id": text}),
		command("sync", nil, object{"shown": number}),

		{"hello", false, object{"user_id": text, "instance_id": text, "request_id": text, "limits": object{"type": "object"}}, []string{"user_id", "instance_id"}},
		{"inbox", false, object{"channels": list(unread), "threads": list(thread), "totals": totals, "totals_by_label": byLabel, "truncated": flag, "evaluated_at": at}, []string{"channels", "threads", "totals"}},
		{"message.new", false, object{"channel_id": text, "message_id": text, "seq": number, "sender_id": text, "preview": text, "at": at, "thread_id": text, "broadcast": flag, "silent": flag}, []string{"channel_id", "message_id"}},
		{"unread.updated", false, update, channel},
		{"read_pointer.updated", false, object{"channel_id": text, "thread_id": text, "last_read_id": text, "last_read_at": text, "instance_id": text}, channel},
		{"receipt.read", false, receipts, channel},
		{"receipt.delivered", false, receipts, channel},
		{"receipt.viewed", false, receipts, channel},
		{"read_state", false, object{"id": id, "channel_id": text, "readers": list(reader), "truncated": flag}, channel},
		{"ack", false, object{"id": id, "after": texts}, []string{"id", "after"}},
		{"error", false, object{"id": id, "code": text, "message": text}, []string{"code", "message"}},
	}
}
