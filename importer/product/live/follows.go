package live

import (
	"github.com/tidemark/tidemark/importer/product"
	"github.com/tidemark/tidemark/importer/source"
)

// follows has the tables that a bridge of a product follows.
var follows = map[string][]source.Followed{
	"mattermost": mattermostFollows, "synapse": synapseFollows, "discourse": product.ChangingTables(product.DiscourseChanging),
	"zulip": zulipFollows, "tinode": tinodeFollows,
}

// Follows returns the tables that a bridge of a product follows; none if it has no bridge.
func Follows(name string) []source.Followed { return follows[name] }

var mattermostFollows = []source.Followed{
	{Table: "channels", Updates: true},
	{Table: "channelmemberhistory", Updates: true},
	{Table: "channelmembers", Updates: true},
	{Table: "posts", Updates: true},
	{Table: "threadmemberships", Updates: true},
}

// synapseFollows: Synapse's tables of events have no primary key, but the parts of their rows that
// matter here do not change.
var synapseFollows = []source.Followed{
	{Table: "events"},
	{Table: "event_json"},
	{Table: "redactions"},
	{Table: "room_memberships"},
	{Table: "receipts_linearized", Updates: true, Full: true},
	{Table: "push_rules", Updates: true, Full: true},
	{Table: "push_rules_enable", Updates: true, Full: true},
	{Table: "thread_subscriptions", Updates: true, Optional: true},
}

// zulipFollows: the flags of a message before a change show whether a user has read it just now.
var zulipFollows = []source.Followed{
	{Table: "zerver_message", Updates: true},
	{Table: "zerver_stream", Updates: true},
	{Table: "zerver_subscription", Updates: true},
	{Table: "zerver_usermessage", Updates: true, Full: true},
}

// tinodeFollows: a removed row has to name its topic, which is not its key.
var tinodeFollows = []source.Followed{
	{Table: "dellog"},
	{Table: "messages", Updates: true, Full: true},
	{Table: "subscriptions", Updates: true, Full: true},
	{Table: "topics", Updates: true, Full: true},
}
