package importer

import (
	"context"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// known is what follows the name of an import in the keys of what its bridge must know.
const known = "/known/"

// Known reads what a bridge must know of its product beside its position, by name.
func (s *States) Known(ctx context.Context) (map[string]string, error) {
	adm, all := kadm.NewClient(s.cl), map[string]string{}
	from, err := adm.ListStartOffsets(ctx, s.topic)
	if err != nil {
		return nil, err
	}
	first, _ := from.Lookup(s.topic, 0)
	to, err := ends(ctx, adm, s.topic, 1)
	if err != nil {
		return nil, err
	}
	err = readLog(ctx, s.conf, s.topic, []int64{first.Offset}, to, func(r *kgo.Record) error {
		name, mine := strings.CutPrefix(string(r.Key), s.name+known)
		switch {
		case !mine:
		case r.Value == nil:
			delete(all, name)
		default:
			all[name] = string(r.Value)
		}
		return nil
	})
	return all, err
}

// KnownRecord returns the record that remembers a value; "" forgets it.
func (s *States) KnownRecord(name, value string) *kgo.Record {
	r := &kgo.Record{Topic: s.topic, Partition: 0, Key: []byte(s.name + known + name)}
	if value != "" {
		r.Value = []byte(value)
	}
	return r
}
