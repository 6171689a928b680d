package codes

// all has every code. A new code goes to the end of its kind, and none is ever removed. In a part,
// … stands for any text.
var all = []Code{
	{"TM001", "No broker answers", []string{
		"no broker is named",
		"no Kafka broker answers at",
		"or name another with --brokers",
	}},
	{"TM002", "A topic is missing", []string{
		"no such topic",
		"create it with `tidemark topics create`",
	}},
	{"TM003", "Brokers that are too old", []string{
		"the brokers state no cluster id: Tidemark needs Kafka 3.0 or newer",
		"Tidemark needs Kafka 3.0 or newer",
	}},
	{"TM004", "Topics with different partition counts", []string{
		"inputs and outputs must have the same number; `tidemark topics check` says what is expected",
	}},
	{"TM005", "Partitions were added", []string{
		"now: keys have moved between partitions and counts would be wrong; reshard into new topics with the new partition count",
		"keys have moved between partitions and counts would be wrong; reshard into new topics with the new partition count",
	}},
	{"TM006", "A topic was deleted and created again", []string{
		"was deleted and created again: its offsets mean other records; if the new topic is the truth, stop, remove the stores and the group's offsets, and start anew",
		"the topic was deleted, or created again: its offsets mean other records; if the new topic is the truth, stop, remove the stores and the group's offsets, and start anew",
		"): its offsets mean other records; if the new topic is the truth, start with an empty data directory to rebuild from it",
	}},
	{"TM007", "Another cluster, another topic, another directory", []string{
		"the brokers belong to cluster",
		"point --brokers at the right cluster, or use another data directory",
		"was a directory renamed?",
		"use the topic names of before, or another data directory",
	}},
	{"TM008", "Other settings", []string{
		"start with the settings of before, or with an empty data directory to rebuild from the topics",
	}},
	{"TM009", "Members with other settings", []string{
		"members of the group fold with other settings",
	}},
	{"TM010", "A store of another version", []string{
		"); run the newer version, or start with an empty data directory to rebuild from the topics",
		") that this build does not convert; start with an empty data directory to rebuild from the topics",
	}},
	{"TM011", "A record needs a newer version", []string{
		"bad event: newer_version",
	}},
	{"TM012", "The log begins beyond the store", []string{
		"on are not folded yet: they are gone; bring back a store or snapshot that is at",
		"or later, or reset the group's offsets and remove the store to begin anew at the start of the log",
		"no snapshot helps",
	}},
	{"TM013", "The log ends before the store", []string{
		"is not in the log: records were removed at one of its ends",
		"if the log is right, remove the store and the group's offsets to rebuild from it",
		"the log has lost records that were folded; if the log is right, remove the store and the group's offsets to rebuild from it",
		"the log has lost records whose changes were published; if the log is right, remove the group's offsets to go on from it",
	}},
	{"TM014", "Too many bad records", []string{
		"the partition stops, so that a broken producer does not drain into the dead letters; repair the producer, then restart with --no-breaker until its records are through",
	}},
	{"TM015", "A parked partition", []string{
		"run a build that repairs this, and the record is tried again; or skip the record: start all nodes with --skip-record",
		"times before the partition is parked)",
	}},
	{"TM016", "A panic elsewhere", []string{
		"this is a bug in Tidemark: the log has the stack",
	}},
	{"TM017", "The store is corrupt", []string{
		"store … corrupt: ",
		"the corrupt store cannot be moved aside",
	}},
	{"TM018", "The disk of a store fails", []string{
		"its store failed",
		"store … reading its header",
		"the files are as after a crash",
	}},
	{"TM019", "A replaced store cannot be put back", []string{
		"the store that a snapshot was to replace cannot be put back",
	}},
	{"TM020", "The disk is full", []string{
		"free some space, and it continues by itself",
	}},
	{"TM021", "The store is in use", []string{
		"in use by another process: give each node a data directory of its own, or end the other",
	}},
	{"TM022", "Changes cannot be published", []string{
		"publishing the changes up to position",
		"docs/security.md lists the rights of each role, and `kafka-acls.sh --add --operation",
	}},
	{"TM023", "A topic cannot be fetched", []string{
		"cannot be fetched",
		"the group's offset could not be read",
		"the group's offset cannot be read",
	}},
	{"TM024", "A compressed batch would become too large", []string{
		"would become more than the",
	}},
	{"TM025", "Brokers do not say where the logs are", []string{
		"the start and end of the topics' logs are not known",
		"the offsets of group",
		"identity of topic",
		"reading the metadata of topics",
	}},
	{"TM026", "Another consumer uses the group", []string{
		"was assigned for some of the input topics only: another consumer uses the group",
		"the group's assignment cannot be read",
	}},
	{"TM027", "Two nodes with one instance id", []string{
		"another process has joined the group with the instance id",
	}},
	{"TM028", "A standby failed", []string{
		"the group has committed nothing",
	}},
	{"TM029", "Nobody owns a partition", []string{
		"the owner of partition",
		"no member of group",
		"this node does not own the partition",
		"the partition is being opened on this node",
	}},
	{"TM030", "The audit log cannot be written", []string{
		"lines of the audit log are lost",
		"the audit log cannot be opened",
		"the audit log … is not a regular file",
		"the audit log must be readable",
		"the audit log was moved away",
	}},
	{"TM031", "Another node does not believe this one", []string{
		"the owner of the data does not take this node for one of its cluster",
		"this call is not from a node of this cluster: its signature matches no secret",
	}},
	{"TM032", "A call of a node is refused", []string{
		"this call is not from a node of this cluster",
	}},
	{"TM033", "This node can prove nothing to others", []string{
		"the other node advertises no https address, so it cannot see the certificate of this one: set --tls-cert and an https --advertise there, or --peer-secret-file here and there",
		"the data is on another node, and this node cannot prove to it that it is a node: set --peer-secret-file, or --peer-cert, --peer-key and --peer-ca, on all nodes",
	}},
	{"TM034", "The service token is not valid", []string{
		"the service token … put a new one there",
		"the service token cannot be read",
		"the service token … does not have the scope",
		"the service token … has expired",
	}},
	{"TM035", "Nodes do not trust each other's certificates", []string{
		"do not trust each other's certificates",
	}},
	{"TM036", "A snapshot is refused", []string{
		"the snapshot is refused",
		"at position … the current one at",
		"another owner has written the current snapshot",
	}},
	{"TM037", "The bucket holds something else", []string{
		"the bucket has snapshots of another deployment",
	}},
	{"TM038", "Two digests for one position", []string{
		"one of them is wrong; `tidemark verify` says which",
	}},
	{"TM039", "A snapshot cannot be taken", []string{
		"snapshot: the store cannot be copied",
		"after which files without a manifest are pruned: raise the grace period",
	}},
	{"TM040", "A snapshot is damaged", []string{
		"manifest … it is damaged",
		"manifest … it cannot be read",
		"manifest … written by a newer version",
		"manifest … it makes no sense",
		"snapshot … is damaged",
	}},
	{"TM041", "A badge is wrong", []string{
		", and the log gives",
	}},
	{"TM042", "The past is out of reach", []string{
		"retention no longer reaches",
	}},
	{"TM043", "A bridge cannot go on", []string{
		"changes since … are lost to the bridge",
		"changes in between are lost to the bridge",
		"made no replication slot, so later changes are unknown",
		"was removed, and changes since then cannot be read",
		"so this one may not write any more: stop one of the two",
		"does not record which transactions it includes",
		"is compacted, so changes are missing",
		"and the import … is older: import again",
		"no longer has the changes from which the bridge continues",
		"so changes in between are missing",
		"it is no change that Debezium's connector",
	}},
	{"TM044", "A publication stops the product", []string{
		"which have no primary key: PostgreSQL refuses these updates of the product",
	}},
	{"TM045", "A database cannot be followed", []string{
		"so its changes cannot be followed: set wal_level = logical",
		"a replication slot belongs to the primary",
		"lack tables: let the owner of the tables run this",
		"may not replicate",
		"all replication slots of the database are in use",
		"a replication slot waits for the transactions that are open when it is made",
	}},

	{"TM101", "empty_value", nil},
	{"TM102", "too_large", nil},
	{"TM103", "undecodable", nil},
	{"TM104", "no_kind", nil},
	{"TM105", "invalid_id", nil},
	{"TM106", "no_target", nil},
	{"TM107", "zero_seq", nil},
	{"TM108", "invalid_count", nil},
	{"TM109", "invalid_time", nil},
	{"TM110", "invalid_level", nil},
	{"TM111", "invalid_label", nil},
	{"TM112", "too_many", nil},
	{"TM113", "wrong_partition", nil},
	{"TM114", "too_many_held", nil},
	{"TM115", "channel_full", nil},
	{"TM116", "skipped", nil},
}
