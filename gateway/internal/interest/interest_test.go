package interest

import "testing"

// A channel has a bit for each shard that has it, and is removed with the last of them.
func TestShardsOfAChannel(t *testing.T) {
	var in Interest
	general := []byte("general")
	if got := in.Of(general); got != 0 {
		t.Errorf("nobody has it, and %b do", got)
	}
	in.Set("general", 0, true)
	in.Set("general", 63, true)
	in.Set("other", 5, true)
	if got := in.Of(general); got != 1|1<<63 {
		t.Errorf("shards 0 and 63 have it: %b", got)
	}
	in.Set("general", 0, false)
	in.Set("general", 7, false)
	if got := in.Of(general); got != 1<<63 {
		t.Errorf("shard 63 has it: %b", got)
	}
	in.Set("general", 63, false)
	if got := in.Of(general); got != 0 || len(in.shards) != 1 {
		t.Errorf("nobody has it, and %b do; %d channels are known", got, len(in.shards))
	}
}
