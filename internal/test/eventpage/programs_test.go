package eventpage

import (
	"archive/zip"
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/testkit/servers"
)

// partitions is large enough that a partitioner other than murmur2 would put the channels of the
// examples into other partitions.
const partitions = 12

// language describes how to run the programs of the page in a language.
type language struct {
	name string
	// file is the program's name. command runs the program in a directory of its own.
	file    string
	command func(t *testing.T, dir, file string) *exec.Cmd
	// indent is put before each line of a call.
	indent string
}

var pythonLanguage = language{"python", "program.py", func(t *testing.T, dir, file string) *exec.Cmd {
	cmd := exec.CommandContext(limit(t), python(t), file)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+dir)
	return cmd
}, ""}

var javaLanguage = language{"java", "Program.java", func(t *testing.T, dir, file string) *exec.Cmd {
	classes := filepath.Join(dir, "classes")
	sources, err := filepath.Glob(filepath.Join(dir, "tidemark", "events", "v1", "*.java"))
	if err != nil {
		t.Fatal(err)
	}
	path := classes + string(os.PathListSeparator) + filepath.Join(jars(t), "*")
	run(t, exec.CommandContext(limit(t), "javac", append([]string{"-nowarn", "-d", classes, "-cp", path, file}, sources...)...))
	class := "Publish"
	if len(sources) > 0 {
		class = "Badges"
	}
	return exec.CommandContext(limit(t), "java", "-cp", path, class)
}, "        "}

var goLanguage = language{"go", "main.go", func(t *testing.T, dir, file string) *exec.Cmd {
	program := filepath.Join(dir, "program")
	build := exec.CommandContext(limit(t), "go", "build", "-o", program, file)
	build.Dir = "../../.." // whose go.mod has the packages
	run(t, build)
	return exec.CommandContext(limit(t), program)
}, "\t"}

var languages = []language{pythonLanguage, javaLanguage, goLanguage}

// limit returns a context that ends with the test or after three minutes, which compilers may need
// on a busy machine.
func limit(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func jars(t *testing.T) string {
	t.Helper()
	dir, err := servers.ExampleJars(limit(t))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func python(t *testing.T) string {
	t.Helper()
	path, err := servers.ExamplePython(limit(t))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func run(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}

// published returns the programs of the page in a language, and the calls of publish that go into
// them.
func published(list []section, lang string) (programs, calls []string) {
	for i := range list {
		s := &list[i]
		for _, b := range s.blocks {
			switch {
			case b.language != lang:
			case kindOf(s) != nil:
				calls = append(calls, b.text)
			case strings.Contains(b.text, "... publish(...)"):
				programs = append(programs, b.text)
			}
		}
	}
	return programs, calls
}

// TestProducers: the producers of the page write its examples to a real Kafka. Each record is in
// the partition of its channel and equals the example in JSON.
func TestProducers(t *testing.T) {
	kafka := testkit.Kafka(t)
	_, list := read(t)
	var want []string
	for i := range list {
		if s := &list[i]; kindOf(s) != nil {
			want = append(want, s.topic+" "+canonical(t, s.topic, []byte(s.events()[0])))
		}
	}
	for _, l := range languages {
		programs, calls := published(list, l.name)
		if len(programs) == 0 || len(calls) != len(want) {
			t.Fatalf("%s: %d programs, %d calls for %d kinds", l.name, len(programs), len(calls), len(want))
		}
		for i, program := range programs {
			t.Run(fmt.Sprintf("%s-%d", l.name, i+1), func(t *testing.T) {
				set := testkit.Topics(t, kafka.Brokers, partitions, 1)
				text := strings.Join(calls, "\n")
				if l.indent != "" {
					text = l.indent + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+l.indent)
				}
				start(t, l, set, kafka.Brokers[0], insert(program, text), func(cmd *exec.Cmd) { run(t, cmd) })
				if got := written(t, kafka.Brokers, set); !slices.Equal(got, sorted(want)) {
					t.Errorf("written were\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(sorted(want), "\n"))
				}
			})
		}
	}
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

// insert puts the calls into a program, in place of a comment.
func insert(program, calls string) string {
	var b strings.Builder
	for line := range strings.Lines(program) {
		if strings.Contains(line, "... publish(...)") {
			line = calls + "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// start writes a program, with the topics and the broker of the test, and passes its command to
// then.
func start(t *testing.T, l language, set testkit.TopicSet, broker, program string, then func(*exec.Cmd)) {
	t.Helper()
	dir := t.TempDir()
	for _, spec := range set.Specs {
		name := strings.TrimPrefix(spec.Name, set.Prefix)
		program = strings.ReplaceAll(program, `"`+name+`"`, `"`+spec.Name+`"`)
	}
	program = strings.ReplaceAll(program, "127.0.0.1:9092", broker)
	program = strings.ReplaceAll(program, `"my-badges"`, `"`+testkit.UniqueName(t, "badges")+`"`)
	file := filepath.Join(dir, l.file)
	if strings.Contains(program, "outputs_pb2") || strings.Contains(program, "Outputs") {
		schemas(t, l.name, dir)
	}
	for _, class := range []string{"Publish", "Badges"} { // Java names a file after its class
		if l.name == "java" && strings.Contains(program, "public class "+class) {
			file = filepath.Join(dir, class+".java")
		}
	}
	if err := os.WriteFile(file, []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	then(l.command(t, dir, file))
}

// written reads a set of topics to its end.
func written(t *testing.T, brokers []string, set testkit.TopicSet) (list []string) {
	t.Helper()
	topics := []string{set.Name(events.TopicMessages), set.Name(events.TopicReads), set.Name(events.TopicDeliveries)}
	ends, err := testkit.Admin(t, brokers).ListEndOffsets(t.Context(), topics...)
	if err != nil {
		t.Fatal(err)
	}
	var left int64
	for _, topic := range ends {
		for _, p := range topic {
			left += p.Offset
		}
	}
	cl := testkit.Client(t, brokers, kgo.ConsumeTopics(topics...))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for left > 0 && ctx.Err() == nil {
		cl.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			left--
			topic := strings.TrimPrefix(r.Topic, set.Prefix)
			value := canonical(t, topic, r.Value)
			if want := events.PartitionOf(r.Key, partitions); r.Partition != want {
				t.Errorf("%s is in partition %d, want %d", value, r.Partition, want)
			}
			if !strings.Contains(value, fmt.Sprintf(`"channel_id":%q`, r.Key)) {
				t.Errorf("%s has key %q", value, r.Key)
			}
			list = append(list, topic+" "+value)
		})
	}
	return sorted(list)
}

// canonical returns an event, in JSON or Protobuf, in one form.
func canonical(t *testing.T, topic string, value []byte) string {
	t.Helper()
	m := messageOf(topic)
	var err error
	if value[0] == '{' {
		err = protojson.Unmarshal(value, m)
	} else {
		err = proto.Unmarshal(value, m)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(strings.ReplaceAll(string(out), `": `, `":`), `, "`, `,"`) // spaces vary by build
}

// schemas generates the classes of Python or Java with the command of the page.
func schemas(t *testing.T, lang, dir string) {
	t.Helper()
	_, list := read(t)
	out := "--" + lang + "_out="
	for _, command := range all(list, "sh") {
		if !strings.Contains(command, out) {
			continue
		}
		command = strings.Replace(command, out+".", out+dir, 1)
		if rest, ok := strings.CutPrefix(command, "protoc "); ok {
			command = protoc(t, dir) + " " + rest
		} else if rest, ok := strings.CutPrefix(command, "python3 "); ok {
			command = python(t) + " " + rest
		}
		cmd := exec.CommandContext(limit(t), "bash", "-c", command)
		cmd.Dir = "../../.."
		run(t, cmd)
		return
	}
	t.Fatalf("the page does not say how to make the classes of %s", lang)
}

// protoc returns the command of the protoc among the jars. A jar also has the schemas of Google,
// which an installed protoc would bring along.
func protoc(t *testing.T, dir string) string {
	t.Helper()
	folder := jars(t)
	programs, err := filepath.Glob(filepath.Join(folder, "protoc-*.exe"))
	if err != nil || len(programs) != 1 {
		t.Fatalf("protoc is %q: %v", programs, err)
	}
	found, err := filepath.Glob(filepath.Join(folder, "protobuf-java-*.jar"))
	if err != nil || len(found) != 1 {
		t.Fatalf("protobuf-java is %q: %v", found, err)
	}
	jar, err := zip.OpenReader(found[0])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = jar.Close() }()
	const name = "google/protobuf/timestamp.proto"
	text, err := fs.ReadFile(jar, name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "include", filepath.Dir(name)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "include", name), text, 0o644); err != nil {
		t.Fatal(err)
	}
	return programs[0] + " -I " + filepath.Join(dir, "include")
}

// TestConsumers: the consumers of the page read records of tidemark.unread, and skip a record that
// another one dominates.
func TestConsumers(t *testing.T) {
	kafka := testkit.Kafka(t)
	_, list := read(t)
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			programs := all(list, l.name+" consumer")
			if len(programs) != 1 {
				t.Fatalf("%d programs", len(programs))
			}
			set := testkit.Topics(t, kafka.Brokers, partitions, 1)
			for _, d := range []*eventsv1.UnreadDelta{
				{UserId: "ann", ChannelId: "general", Member: true, Unread: 3, Mentions: 1, Stamp: &eventsv1.Stamp{FoldVersion: 2, M: 7, R: 2}},
				{UserId: "ann", ChannelId: "general", Member: true, Unread: 9, Stamp: &eventsv1.Stamp{FoldVersion: 2, M: 6, R: 2}},
				{UserId: "ann", ChannelId: "general", ThreadId: "m1", Member: true, Unread: 1, Stamp: &eventsv1.Stamp{FoldVersion: 2, M: 7, R: 2}},
				{UserId: "ann", ChannelId: "random", Member: true, Unread: 4, Stamp: &eventsv1.Stamp{FoldVersion: 2, M: 7, R: 2}},
			} {
				value, err := proto.Marshal(d)
				if err != nil {
					t.Fatal(err)
				}
				key := events.AppendUnreadKey(nil, []byte(d.UserId), []byte(d.ChannelId), []byte(d.ThreadId))
				r := &kgo.Record{Topic: set.Name(events.TopicUnread), Key: key, Value: value, Partition: events.PartitionOf([]byte(d.UserId), partitions)}
				if err := testkit.Client(t, kafka.Brokers, kgo.RecordPartitioner(kgo.ManualPartitioner())).ProduceSync(t.Context(), r).FirstErr(); err != nil {
					t.Fatal(err)
				}
			}
			start(t, l, set, kafka.Brokers[0], programs[0], func(cmd *exec.Cmd) {
				want := []string{"ann general - 3 1", "ann general m1 1 0", "ann random - 4 0"}
				if got := lines(t, cmd, len(want)); !slices.Equal(got, want) {
					t.Errorf("%q, want %q", got, want)
				}
			})
		})
	}
}

// lines runs a program until it has written n lines, and kills it.
func lines(t *testing.T, cmd *exec.Cmd, n int) (list []string) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errout strings.Builder
	cmd.Stderr = &errout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	end := func() { once.Do(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }) }
	defer end()
	for s := bufio.NewScanner(out); len(list) < n && s.Scan(); {
		list = append(list, s.Text())
	}
	if len(list) < n {
		end()
		t.Fatalf("it ended behind %q: %s", list, errout.String())
	}
	return list
}
