package steps

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// plantedBug is a bug that systems like this have had, planted in the code of the runtime.
type plantedBug struct {
	name string
	file string // from the root of the module
	old  string // a piece of it that is there once
	new  string // the code with the bug; planted("name") turns it on
}

// plantedBugs are all planted in one build, each in a branch that only its name enables. The build
// uses modified copies (`go test -overlay`), so the released code has none of them.
var plantedBugs = []plantedBug{
	{"position outside the batch", "projections/cut.go",
		"	err := k.batch.Set([]byte{keys.Header}, k.rules.Scratch, nil)",
		"	if planted(`position outside the batch`) {\n		_ = k.db.Set([]byte{keys.Header}, k.rules.Scratch, nil)\n	}\n" +
			"	err := k.batch.Set([]byte{keys.Header}, k.rules.Scratch, nil)"},
	{"committed before it is acknowledged", "processor/internal/steps/draining.go",
		"	w.out.Publish(w, w.outgoing())",
		"	if planted(`committed before it is acknowledged`) && full {\n		w.out.Acknowledged(w.Number, f.position)\n	}\n	w.out.Publish(w, w.outgoing())"},
	{"stored before it is acknowledged", "processor/internal/steps/draining.go",
		"	f.records = len(w.deltas.Records) + len(w.dead)\n",
		"	f.records = len(w.deltas.Records) + len(w.dead)\n	if planted(`stored before it is acknowledged`) && f.cut != nil {\n		w.out.Apply(w, f.cut)\n		f.cut = nil\n	}\n"},
	{"live before it has caught up", "processor/internal/steps/opening.go",
		"func (w *Worker) atGoal() bool { return w.plan.Reached(w.Fold.Position()) }",
		"func (w *Worker) atGoal() bool {\n	return w.plan.Reached(w.Fold.Position()) || planted(`live before it has caught up`)\n}"},
	{"publishes while it opens", "processor/internal/steps/draining.go",
		"	deltas, replaying := &w.deltas, w.replaying",
		"	deltas, replaying := &w.deltas, w.replaying && !planted(`publishes while it opens`)"},
	{"a gap in the log is skipped", "processor/internal/opening/plan.go",
		"		case stored[i] < h.Start[i]:",
		"		case stored[i] < h.Start[i] && !planted(`a gap in the log is skipped`):"},
	{"caught up by the last record seen", "processor/internal/steps/opening.go",
		"		w.report(now, position)\n		return\n	}\n",
		"		w.report(now, position)\n		return\n	}\n	if planted(`caught up by the last record seen`) && w.pending == 0 {\n		return\n	}\n"},
	{"a record that came twice is folded twice", "processor/internal/merge/merge.go",
		"	for first < len(records) && records[first].Offset < s.next {",
		"	for first < len(records) && records[first].Offset < s.next && !planted(`a record that came twice is folded twice`) {"},
	{"a dead letter does not move the position", "processor/internal/steps/batch.go",
		"			f.Skip(in, r.Offset+1)",
		"			if !planted(`a dead letter does not move the position`) {\n				f.Skip(in, r.Offset+1)\n			}"},
	{"a read that waits is lost by a cut", "projections/cut_state.go",
		"	put(kinds.Pending, records.AppendUnsettled(k.rules.Scratch[:0], x))",
		"	if planted(`a read that waits is lost by a cut`) {\n		put(kinds.Pending, nil)\n	} else {\n		put(kinds.Pending, records.AppendUnsettled(k.rules.Scratch[:0], x))\n	}"},
	{"the stamp leaves out the user's own reads", "projections/internal/state/positions.go",
		"	return events.Stamp{FoldVersion: identity.FoldVersion, M: c.LastM, R: p.LastR(r), D: p.RareOf(r).LastD}",
		"	if planted(`the stamp leaves out the user's own reads`) {\n		return events.Stamp{FoldVersion: identity.FoldVersion, M: c.LastM, D: p.RareOf(r).LastD}\n	}\n" +
			"	return events.Stamp{FoldVersion: identity.FoldVersion, M: c.LastM, R: p.LastR(r), D: p.RareOf(r).LastD}"},
	{"an opening starts at the committed offsets", "processor/internal/opening/plan.go",
		"	o.Published = behind && !ahead",
		"	if planted(`an opening starts at the committed offsets`) {\n		o.From = o.Until\n	}\n	o.Published = behind && !ahead"},
	{"a stale stamp wins", "internal/test/checker/mirror.go",
		"	if was, ok := m.of[key]; ok && was.view.Stamp.Dominates(d.Stamp) {",
		"	if was, ok := m.of[key]; ok && was.view.Stamp.Dominates(d.Stamp) && !planted(`a stale stamp wins`) {"},
	{"a change is lost when the fan-out is joined", "projections/drain.go",
		"func (p *Partition) Drain(d *Deltas, fanout bool) {\n",
		"func (p *Partition) Drain(d *Deltas, fanout bool) {\n	if !fanout && planted(`a change is lost when the fan-out is joined`) {\n" +
			"		for _, ci := range p.rules.OutChannels {\n			p.rules.Channels.At(ci).Pending &^= state.OutMembersChanged\n		}\n	}\n"},
	{"an erasure is lost by a cut", "projections/internal/rules/erase.go",
		"	p.TouchRow(ref, r)\n",
		"	if !planted(`an erasure is lost by a cut`) {\n		p.TouchRow(ref, r)\n	}\n"},
	{"an erasure forgets no receipts", "projections/internal/rules/erase.go",
		"	p.forgetReceipts(c, r)\n",
		"	if !planted(`an erasure forgets no receipts`) {\n		p.forgetReceipts(c, r)\n	}\n"},
	{"former owners are not fenced", "processor/internal/outputs/roster.go",
		"	return r.self, len(of.former) > 0, nil, true",
		"	return r.self, len(of.former) > 0 && !planted(`former owners are not fenced`), nil, true"},
	{"former owners are not fenced from channels", "processor/internal/outputs/roster.go",
		"		if !slices.Contains(compacted, topic) {",
		"		if !slices.Contains(compacted, topic) || topic == compacted[1] && planted(`former owners are not fenced from channels`) {"},
	{"published before the group has the producer", "processor/internal/outputs/roster.go",
		"	case !of.has:",
		"	case !of.has && !planted(`published before the group has the producer`):"},
	{"an owner that does not leave in order is not named", "processor/internal/outputs/roster.go",
		"			if leaving && !of.spoiled {",
		"			if leaving && !of.spoiled || planted(`an owner that does not leave in order is not named`) {"},
	{"what changes back is not told", "projections/internal/rules/marks.go",
		"	if p.ThreadSignature(c, r) != f.LastSeen {",
		"	if p.ThreadSignature(c, r) != f.LastSeen && !planted(`what changes back is not told`) {"},
}

// plantedSeeds is the largest number of seeds that the simulator tries for a bug. Most bugs need a
// few.
const plantedSeeds = 2000

// plantedFrom is the first seed for bugs that only few scripts show; 0 for others.
var plantedFrom = map[string]uint64{"what changes back is not told": 2500}

// plantedEnv has the name of the bug to enable in a build with all of them.
const plantedEnv = "TIDEMARK_PLANTED"

// TestPlantedBugsHaveTheirPlaces looks for each of the places in the current code. It is quick, so
// that you notice a moved place before TestPlantedBugsAreFound runs.
func TestPlantedBugsHaveTheirPlaces(t *testing.T) {
	for _, b := range plantedBugs {
		text, err := os.ReadFile(filepath.Join("../../..", b.file))
		if err != nil {
			t.Error(err)
		} else if n := strings.Count(string(text), b.old); n != 1 {
			t.Errorf("%s: %q is in %s %d times, want once: name the place where the bug is to be planted now", b.name, b.old, b.file, n)
		}
	}
}

// TestPlantedBugsAreFound enables one bug at a time, and the simulator must find it.
func TestPlantedBugsAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the runtime anew")
	}
	if os.Getenv(plantedEnv) != "" {
		t.Skip("this is the build with the bugs")
	}
	t.Parallel()
	binary := buildPlanted(t)
	for _, b := range plantedBugs {
		cmd := exec.Command(binary, "-test.run=^TestFindPlanted$", "-test.v")
		cmd.Env = append(os.Environ(), plantedEnv+"="+b.name)
		out, err := cmd.CombinedOutput()
		_, message, found := strings.Cut(string(out), "found after ")
		if err != nil || !found {
			t.Errorf("%s: not found: %v\n%.2000s", b.name, err, out)
			continue
		}
		seeds, _, _ := strings.Cut(message, "\n")
		t.Logf("%-48s found after %s", b.name, seeds)
	}
}

// TestFindPlanted runs in the build of TestPlantedBugsAreFound, with one bug enabled.
func TestFindPlanted(t *testing.T) {
	if os.Getenv(plantedEnv) == "" {
		t.Skip("no bug is planted")
	}
	from := plantedFrom[os.Getenv(plantedEnv)]
	for n := range uint64(plantedSeeds) {
		if wrong := runSim(drawPlan(from + n)); wrong != "" {
			first, _, _ := strings.Cut(wrong, "\n")
			fmt.Printf("found after %s from %d on: %.150s\n", plural(n+1, "seed"), from, first)
			return
		}
	}
	t.Errorf("%d seeds from %d on do not find it", plantedSeeds, from)
}

func plural(n uint64, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.FormatUint(n, 10) + " " + what
}

// buildPlanted builds this package's tests with all bugs.
func buildPlanted(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	replace := map[string]string{}
	source := map[string]string{}
	write := func(file, text string) {
		to := filepath.Join(dir, strings.ReplaceAll(file, "/", "-"))
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root, file)] = to
	}
	for _, b := range plantedBugs {
		if source[b.file] == "" {
			text, err := os.ReadFile(filepath.Join(root, b.file))
			if err != nil {
				t.Fatal(err)
			}
			source[b.file] = string(text)
			pkg := filepath.Dir(b.file)
			write(pkg+"/planted.go", "package "+filepath.Base(pkg)+"\n\nimport \"os\"\n\nvar plantedNow = os.Getenv(\""+plantedEnv+
				"\")\n\nfunc planted(name string) bool { return plantedNow == name }\n")
		}
		if n := strings.Count(source[b.file], b.old); n != 1 {
			t.Fatalf("%s: %q is in %s %d times, want once: say where the bug is to be planted now", b.name, b.old, b.file, n)
		}
		source[b.file] = strings.Replace(source[b.file], b.old, b.new, 1)
	}
	for file, text := range source {
		write(file, text)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(name, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "planted.test")
	cmd := exec.Command("go", "test", "-c", "-overlay", name, "-o", binary, ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build with the bugs: %v\n%s", err, out)
	}
	return binary
}
