package partitioners

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/testkit/servers"
)

const (
	partitions = 12
	records    = 60 // that each program writes
)

// run is one run of a client. The row of the table is the one whose client begins with row.
type run struct {
	row string
	// set is what the row says to set; empty: nothing, the client's default.
	set     string
	command func(t *testing.T, broker, topic string) *exec.Cmd
}

var runs = []run{
	{"Python: kafka-python", "", python("kafkapython.py")},
	{"Python: aiokafka", "", python("aio.py")},
	{"Node: KafkaJS", "", kafkaJS},
	{"Python: Confluent's client", "", python("confluent.py")},
	{"Python: Confluent's client", "murmur2_random", python("confluent.py", "murmur2_random")},
	{"kcat", "", kcat()},
	{"kcat", "-X topic.partitioner=murmur2_random", kcat("-X", "topic.partitioner=murmur2_random")},
	{"Go: Sarama", "", golang("sarama")},
	{"Go: Sarama", "sarama.NewMurmur2Partitioner", golang("sarama-murmur2")},
	{"Go: Sarama", "sarama.NewCustomPartitioner(sarama.WithAbsFirst(), sarama.WithCustomHashFunction(murmur2))", golang("sarama-custom")},
	{"Go: segmentio/kafka-go", "", golang("kafka-go")},
	{"Go: segmentio/kafka-go", "kafka.Murmur2Balancer{}", golang("kafka-go-murmur2")},
}

// inTestProducers are the rows whose client TestProducers of package eventpage runs.
var inTestProducers = []string{"Java: kafka-clients", "Go: franz-go"}

// TestTable: each row that is marked as run is run with its default, and with what it says to set.
// Each other row links to its source.
func TestTable(t *testing.T) {
	for _, row := range table(t) {
		defaults, sets := 0, 0
		for _, r := range runs {
			if strings.HasPrefix(row.client, r.row) {
				if r.set == "" {
					defaults++
				} else if sets++; !strings.Contains(row.set, r.set) {
					t.Errorf("%s: the table does not say to set %s", row.client, r.set)
				}
			}
		}
		isRun := defaults == 1 && (sets > 0 || strings.HasPrefix(row.set, "nothing"))
		for _, client := range inTestProducers {
			isRun = isRun || strings.HasPrefix(row.client, client)
		}
		switch {
		case strings.HasPrefix(row.known, "run") != isRun:
			t.Errorf("%s: known from %q, but a test runs it: %t", row.client, row.known, isRun)
		case !isRun && !strings.Contains(row.known, "](https://") && !strings.HasPrefix(row.client, "none"):
			t.Errorf("%s: neither a test nor a source", row.client)
		}
	}
}

func table(t *testing.T) []row {
	t.Helper()
	page, err := os.ReadFile("../../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := tableOf(string(page))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestClients runs the clients against a real Kafka. With what the table says to set, every record
// is in the partition of murmur2, and with the default in that of the partitioner of the table.
func TestClients(t *testing.T) {
	kafka := testkit.Kafka(t)
	rows := table(t)
	for _, r := range runs {
		t.Run(r.row+" "+r.set, func(t *testing.T) {
			want := "murmur2"
			if r.set == "" {
				want = ""
				for _, row := range rows {
					if strings.HasPrefix(row.client, r.row) {
						want, _, _ = strings.Cut(row.byDefault, " (")
					}
				}
			}
			topic := testkit.Topics(t, kafka.Brokers, partitions, 1).Name(events.TopicMessages)
			cmd := r.command(t, kafka.Brokers[0], topic)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", cmd, err, out)
			}
			fits := map[string]int{}
			for key, partition := range written(t, kafka.Brokers, topic) {
				for name, of := range partitioners {
					if of([]byte(key), partitions) == partition {
						fits[name]++
					}
				}
			}
			if want == "round robin" {
				for name, n := range fits {
					if n > records/2 {
						t.Errorf("%d records of %d are in the partition of %s", n, records, name)
					}
				}
				return
			}
			if fits[want] != records {
				t.Errorf("%d records of %d are in the partition of %q: %v", fits[want], records, want, fits)
			}
		})
	}
}

// written returns the partition of each key of a topic.
func written(t *testing.T, brokers []string, topic string) map[string]int32 {
	t.Helper()
	got := map[string]int32{}
	cl := testkit.Client(t, brokers, kgo.ConsumeTopics(topic))
	ctx := limit(t)
	for len(got) < records {
		cl.PollFetches(ctx).EachRecord(func(r *kgo.Record) { got[string(r.Key)] = r.Partition })
		if ctx.Err() != nil {
			t.Fatalf("there are %d of %d keys", len(got), records)
		}
	}
	return got
}

// limit returns a context that ends with the test or after three minutes, which a compiler may need
// on a busy machine.
func limit(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func python(program string, args ...string) func(t *testing.T, broker, topic string) *exec.Cmd {
	return func(t *testing.T, broker, topic string) *exec.Cmd {
		path, err := servers.ExamplePython(limit(t))
		if err != nil {
			t.Fatal(err)
		}
		return exec.CommandContext(limit(t), path, append([]string{filepath.Join("testdata", program), broker, topic}, args...)...)
	}
}

// golang runs a client for Go. Its module is not the product's, which has neither client.
func golang(client string) func(t *testing.T, broker, topic string) *exec.Cmd {
	return func(t *testing.T, broker, topic string) *exec.Cmd {
		program := filepath.Join(t.TempDir(), "program")
		build := exec.CommandContext(limit(t), "go", "build", "-o", program, ".")
		build.Dir = "testdata/golang"
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", build, err, out)
		}
		return exec.CommandContext(limit(t), program, client, broker, topic)
	}
}

func kafkaJS(t *testing.T, broker, topic string) *exec.Cmd {
	modules, err := servers.NodeModules(limit(t))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(limit(t), testkit.Program(t, "node"), "testdata/kafkajs.cjs", broker, topic)
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	return cmd
}

func kcat(args ...string) func(t *testing.T, broker, topic string) *exec.Cmd {
	return func(t *testing.T, broker, topic string) *exec.Cmd {
		cmd := exec.CommandContext(limit(t), testkit.Program(t, "kcat"), append([]string{"-P", "-b", broker, "-t", topic, "-K", " "}, args...)...)
		var lines bytes.Buffer
		for i := range records {
			fmt.Fprintf(&lines, "channel-%d {}\n", i)
		}
		cmd.Stdin = &lines
		return cmd
	}
}
