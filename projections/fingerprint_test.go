package projections_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/internal/test/script/random"
	"github.com/tidemark/tidemark/projections"
)

// defaultFingerprints is how many scripts TestFingerprint runs; the environment variable
// TIDEMARK_FINGERPRINT_SCRIPTS overrides it.
const defaultFingerprints = 30

// fingerprint30 is the hash of the first 30 scripts. It changes with the rules, the record formats,
// or the drained records. After an intended change enter the new hash here; after any other change
// a difference is a bug.
const fingerprint30 = "35823562a025ad511d730b8d4077894ef929d9789853457ed7adc5369809e17a"

// TestFingerprint runs the same random scripts each time and logs one hash over all that a
// partition writes and publishes: the digest of each cut, the drained records, and in the end the
// stored records and the views. Two builds that log the same hash for the same number of scripts
// fold, store and publish the same bytes. With TIDEMARK_FINGERPRINT_FILE it also writes a line for
// each script, so that a comparison of two files names the scripts that differ.
func TestFingerprint(t *testing.T) {
	n := defaultFingerprints
	list := io.Discard
	if name := os.Getenv("TIDEMARK_FINGERPRINT_FILE"); name != "" {
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}()
		list = f
	}
	if s := os.Getenv("TIDEMARK_FINGERPRINT_SCRIPTS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil || n < 1 {
			t.Fatalf("TIDEMARK_FINGERPRINT_SCRIPTS=%q is no number of scripts", s)
		}
	}
	draws := []*rapid.Generator[*random.Case]{
		rapid.Custom(random.Draw), rapid.Custom(random.DrawTakenBack), rapid.Custom(random.Draw), rapid.Custom(random.DrawCrowd),
	}
	sum := sha256.New()
	for i := range n {
		one := sha256.New()
		fingerprint(t, io.MultiWriter(sum, one), draws[i%len(draws)].Example(i), uint64(i))
		if _, err := fmt.Fprintf(list, "%d %x\n", i, one.Sum(nil)); err != nil {
			t.Fatal(err)
		}
	}
	got := fmt.Sprintf("%x", sum.Sum(nil))
	t.Logf("%d scripts: %s", n, got)
	if n == defaultFingerprints && got != fingerprint30 {
		t.Errorf("the fingerprint of %d scripts is %s, want %s", n, got, fingerprint30)
	}
}

// fingerprint adds to sum everything that a partition writes and publishes while it folds a script
// in an order that the seed determines, with cuts and reopenings in between.
func fingerprint(t *testing.T, sum io.Writer, c *random.Case, seed uint64) {
	t.Helper()
	fs := vfs.NewMem()
	p := open(t, fs, c.Settings)
	defer func() { closePartition(t, p) }()
	rng := rand.New(rand.NewPCG(seed, 14))
	order := interleave(rng, &c.Log)
	var d projections.Deltas
	drain := func(fanout bool) {
		p.Drain(&d, fanout)
		for _, r := range d.Records {
			fmt.Fprintf(sum, "%d %d %x %x\n", r.Topic, r.Partition, r.Key, r.Value)
		}
		d.Reset()
	}
	cut := func() {
		drain(true)
		k, err := p.Cut()
		if err == nil {
			err = k.Apply()
		}
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(sum, "digest %x at %v\n", p.Digest(), p.Position())
	}
	for i := range order {
		order[i].Fold(p)
		switch rng.IntN(16) {
		case 0, 1, 2:
			drain(false)
		case 3, 4:
			drain(true)
		case 5:
			cut()
		case 6:
			if rng.IntN(8) == 0 {
				cut()
				closePartition(t, p)
				p = open(t, fs, c.Settings)
			}
		}
	}
	cut()
	fmt.Fprintln(sum, dump(t, p))
	var views []string
	p.Channels(func(channel string, users []string) bool {
		for _, user := range users {
			v, ok := p.View(user, channel)
			x, _ := p.Explain(user, channel)
			b, err := json.Marshal([]any{user, channel, ok, nonZero(t, v), nonZero(t, x)}) // independent of the names and the formatting of types
			if err != nil {
				t.Fatal(err)
			}
			views = append(views, string(b)+"\n")
			p.ThreadsIn(user, channel, func(v *projections.ThreadView) bool {
				x, _ := p.ExplainThread(user, channel, v.ThreadID)
				if b, err = json.Marshal([]any{nonZero(t, *v), nonZero(t, x)}); err == nil {
					views = append(views, string(b)+"\n")
				}
				return err == nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		return true
	})
	slices.Sort(views)
	fmt.Fprint(sum, strings.Join(views, ""))
}

// nonZero returns the non-zero fields of an answer, so that a field that a script does not use
// leaves its fingerprint unchanged.
func nonZero(t *testing.T, answer any) (fields map[string]any) {
	t.Helper()
	b, err := json.Marshal(answer)
	if err == nil {
		err = json.Unmarshal(b, &fields)
	}
	if err != nil {
		t.Fatal(err)
	}
	nothing := func(_ string, v any) bool {
		in, nested := v.(map[string]any)
		return v == nil || v == false || v == "" || v == 0.0 || (nested && len(in) == 0)
	}
	for _, v := range fields {
		if in, nested := v.(map[string]any); nested {
			maps.DeleteFunc(in, nothing)
		}
	}
	maps.DeleteFunc(fields, nothing)
	return fields
}

// interleave orders the records of a script.
func interleave(rng *rand.Rand, l *script.Log) []script.Record {
	return l.Interleave(func(left []events.Input) int { return rng.IntN(len(left)) })
}
