package rules_test

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/internal/test/script/random"
	"github.com/tidemark/tidemark/projections"
)

// TestStories runs the stories of the fold on the rules alone. At each question, and at the end,
// the fold in the order of the file, the fold in a random interleaving of the topics, and the model
// must agree in all queries. A story may restart or crash. The rules alone have no store to come
// back from, so they continue.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("../../testdata/*.txt")
	if err != nil || len(files) < 10 {
		t.Fatalf("only %d files of stories: %v", len(files), err)
	}
	stories := 0
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				stories++
				tell(t, script.Settings(t, d), d.Input)
				return d.Expected // TestGolden of package projections tests the output
			})
		})
	}
	if stories < 100 {
		t.Errorf("only %d stories were told", stories)
	}
}

// tell folds a story line by line and compares at each question.
func tell(t *testing.T, s projections.Settings, story string) {
	t.Helper()
	p, m := newAlone(s), model.New(s)
	var parser script.Parser
	var log script.Log
	agreed := false
	agree := func() {
		if agreed {
			return
		}
		agreed = true
		if d := m.Diff(p); d != "" {
			t.Errorf("in the order of the file the rules differ from the model:\n%s", d)
		}
		interleaved(t, m, s, &log, rand.Uint64())
	}
	for line := range strings.Lines(story) {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "?"):
			agree()
		case line == "restart" || line == "crash":
		default:
			records, err := parser.Parse(line)
			if err != nil {
				t.Error(err)
				return
			}
			for _, r := range records {
				r = log.Add(r)
				r.AddTo(m)
				r.Fold(&p.fold)
				agreed = false
			}
		}
	}
	agree()
}

// interleaved compares the model with the rules after a random interleaving of a log.
func interleaved(t testing.TB, m *model.Model, s projections.Settings, l *script.Log, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	order := l.Interleave(func(left []events.Input) int { return rng.IntN(len(left)) })
	p := newAlone(s)
	for i := range order {
		order[i].Fold(&p.fold)
	}
	if d := m.Diff(p); d != "" {
		t.Errorf("in the interleaving of seed %d the rules differ from the model:\n%s", seed, d)
	}
}

// TestRandomScripts compares the rules with the model after random scripts in random interleavings.
func TestRandomScripts(t *testing.T) {
	draws := []*rapid.Generator[*random.Case]{rapid.Custom(random.Draw), rapid.Custom(random.DrawTakenBack)}
	for i := range 200 {
		compareScript(t, draws[i%len(draws)].Example(i), uint64(i))
	}
}

// FuzzScripts is TestRandomScripts for scripts and interleavings that the fuzzer chooses.
func FuzzScripts(f *testing.F) {
	draw := rapid.Custom(random.Draw)
	f.Add(1, uint64(1))
	f.Add(2, uint64(3))
	f.Fuzz(func(t *testing.T, example int, seed uint64) { compareScript(t, draw.Example(example), seed) })
}

func compareScript(t *testing.T, c *random.Case, seed uint64) {
	t.Helper()
	m := model.New(c.Settings)
	order := c.Log.Interleave(func(left []events.Input) int { return 0 })
	for i := range order {
		order[i].AddTo(m)
	}
	interleaved(t, m, c.Settings, &c.Log, seed)
	if t.Failed() {
		t.Logf("the script is\n%s", c)
	}
}
