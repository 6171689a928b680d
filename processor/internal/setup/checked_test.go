package setup

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/events"
)

func usual() Config { return Config{Brokers: []string{"nobody:1"}, Group: "g"} }

// A zero field with a default gets the default, and other values stay.
func TestDefaults(t *testing.T) {
	c := usual()
	c.FanoutDelay, c.Topics.Unread = time.Minute, "mine"
	got, err := Check(c)
	if err != nil {
		t.Fatal(err)
	}
	if got.Topics.Inputs != events.InputTopics || got.Topics.Unread != "mine" || got.Topics.DeadLetters != events.TopicDeadLetters {
		t.Errorf("topics %+v", got.Topics)
	}
	if got.FanoutDelay != time.Minute || got.CutEvery != DefaultCutEvery || got.CutBytes != DefaultCutBytes || got.SessionTimeout != 10*time.Second {
		t.Errorf("delays %v %v %v %v", got.FanoutDelay, got.CutEvery, got.CutBytes, got.SessionTimeout)
	}
	if got.Breaker != (Breaker{Window: 1000, Least: 200}) || got.Logger == nil || got.Registerer == nil || got.Now == nil || got.OpenStore == nil {
		t.Errorf("breaker %+v; logger, registerer, clock or store missing", got.Breaker)
	}
	// A number or time has no default only if zero turns its feature off.
	off := map[string]bool{"MemTableSize": true, "Standbys": true, "SnapshotEvery": true, "StoreRetention": true, "HotBytes": true}
	v := reflect.ValueOf(got.Config)
	for i := range v.NumField() {
		f := v.Type().Field(i)
		switch f.Type.Kind() {
		case reflect.Int, reflect.Int64, reflect.Uint64:
			if v.Field(i).IsZero() != off[f.Name] {
				t.Errorf("%s is %v", f.Name, v.Field(i))
			}
		}
	}
}

// The error for a negative number, or for a missing required field, names the field.
func TestRefusedConfigs(t *testing.T) {
	if _, err := Check(Config{Group: "g"}); err == nil || !strings.Contains(err.Error(), "brokers") {
		t.Errorf("without brokers: %v", err)
	}
	if _, err := Check(Config{Brokers: []string{"nobody:1"}}); err == nil || !strings.Contains(err.Error(), "group") {
		t.Errorf("without a group: %v", err)
	}
	tried := 0
	for f := range reflect.TypeFor[Config]().NumField() {
		c := usual()
		v := reflect.ValueOf(&c).Elem().Field(f)
		name := reflect.TypeFor[Config]().Field(f).Name
		if k := v.Kind(); k != reflect.Int && k != reflect.Int64 || name == "SnapshotEvery" {
			continue
		}
		tried++
		v.SetInt(-1)
		if _, err := Check(c); err == nil || !strings.Contains(err.Error(), name+" is negative") {
			t.Errorf("%s of -1: %v", name, err)
		}
	}
	if tried < 12 {
		t.Errorf("only %d fields were tried", tried)
	}
}

// The inputs of all partitions share the memory for records, and each input has enough to fetch
// one.
func TestInputBytes(t *testing.T) {
	c := usual()
	c.QueueBytes = 96 << 20
	checked, err := Check(c)
	if err != nil {
		t.Fatal(err)
	}
	for partitions, want := range map[int]int64{0: 32 << 20, 1: 32 << 20, 4: 8 << 20, 1000: minInputBytes} {
		if got := checked.InputBytes(partitions); got != want {
			t.Errorf("of %d partitions: %d, want %d", partitions, got, want)
		}
	}
}

// Config finds the records to skip by topic, partition and offset.
func TestSkips(t *testing.T) {
	c := usual()
	c.Skip = []events.RecordID{{Topic: "t", Partition: 1, Offset: 2}}
	checked, err := Check(c)
	if err != nil || !checked.Skips[c.Skip[0]] || checked.Skips[events.RecordID{Topic: "t", Partition: 1, Offset: 3}] {
		t.Errorf("%v, %v", checked.Skips, err)
	}
}
