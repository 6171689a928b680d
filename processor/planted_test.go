package processor

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
	new  string // what the bug makes of it; planted("name") says whether it is to be
}

// plantedBugs are all planted in one build, each behind a question for its name. The build is made from copies
// (`go test -overlay`): nothing of it is in the code that is delivered.
var plantedBugs = []plantedBug{
	{"position outside the batch", "projections/cut.go",
		"	if err := b.Set([]byte{keyHeader}, p.scratch, nil); err != nil {",
		"	if planted(`position outside the batch`) {\n		_ = p.db.Set([]byte{keyHeader}, p.scratch, pebble.Sync)\n	}\n" +
			"	if err := b.Set([]byte{keyHeader}, p.scratch, nil); err != nil {"},
	{"committed before it is acknowledged", "processor/draining.go",
		"	w.out.publish(w, w.outgoing())",
		"	if planted(`committed before it is acknowledged`) && full {\n		w.out.acknowledged(w.number, f.position)\n	}\n	w.out.publish(w, w.outgoing())"},
	{"stored before it is acknowledged", "processor/draining.go",
		"	f.records = len(w.deltas.Records) + len(w.dead)\n",
		"	f.records = len(w.deltas.Records) + len(w.dead)\n	if planted(`stored before it is acknowledged`) && f.cut != nil {\n		w.out.apply(w, f.cut)\n		f.cut = nil\n	}\n"},
	{"live before it has caught up", "processor/opening.go",
		"func (w *worker) there() bool { return w.plan.reached(w.fold.Position()) }",
		"func (w *worker) there() bool {\n	return w.plan.reached(w.fold.Position()) || planted(`live before it has caught up`)\n}"},
	{"publishes while it opens", "processor/draining.go",
		"	deltas, silent := &w.deltas, w.silent",
		"	deltas, silent := &w.deltas, w.silent && !planted(`publishes while it opens`)"},
	{"a gap in the log is skipped", "processor/open.go",
		"		case stored[i] < h.start[i]:",
		"		case stored[i] < h.start[i] && !planted(`a gap in the log is skipped`):"},
	{"caught up by the last record seen", "processor/opening.go",
		"		w.report(now, position)\n		return\n	}\n",
		"		w.report(now, position)\n		return\n	}\n	if planted(`caught up by the last record seen`) && w.pending == 0 {\n		return\n	}\n"},
	{"a record that came twice is folded twice", "processor/merge.go",
		"	for first < len(records) && records[first].Offset < s.next {",
		"	for first < len(records) && records[first].Offset < s.next && !planted(`a record that came twice is folded twice`) {"},
	{"a dead letter does not move the position", "processor/batch.go",
		"			f.Skip(in, r.Offset+1)",
		"			if !planted(`a dead letter does not move the position`) {\n				f.Skip(in, r.Offset+1)\n			}"},
	{"a read that waits is lost by a cut", "projections/cut.go",
		"	put(kinds[2], x.appendHeld(p.scratch[:0]))",
		"	if planted(`a read that waits is lost by a cut`) {\n		put(kinds[2], nil)\n	} else {\n		put(kinds[2], x.appendHeld(p.scratch[:0]))\n	}"},
	{"the stamp leaves out the user's own reads", "projections/view.go",
		"	return events.Stamp{FoldVersion: FoldVersion, M: c.lastM, R: r.lastR, D: r.lastD}",
		"	if planted(`the stamp leaves out the user's own reads`) {\n		return events.Stamp{FoldVersion: FoldVersion, M: c.lastM, D: r.lastD}\n	}\n" +
			"	return events.Stamp{FoldVersion: FoldVersion, M: c.lastM, R: r.lastR, D: r.lastD}"},
	{"an opening starts at the committed offsets", "processor/open.go",
		"	// Neither before nor after what was committed: two",
		"	if planted(`an opening starts at the committed offsets`) {\n		o.from = o.until\n	}\n	// Neither before nor after what was committed: two"},
	{"a stale stamp wins", "internal/checker/mirror.go",
		"	if was, ok := m.of[key]; ok && was.view.Stamp.Dominates(d.Stamp) {",
		"	if was, ok := m.of[key]; ok && was.view.Stamp.Dominates(d.Stamp) && !planted(`a stale stamp wins`) {"},
	{"a change is lost when the fan-out is joined", "projections/drain.go",
		"func (p *Partition) Drain(d *Deltas, fanout bool) {\n",
		"func (p *Partition) Drain(d *Deltas, fanout bool) {\n	if !fanout && planted(`a change is lost when the fan-out is joined`) {\n" +
			"		for _, ci := range p.outChans {\n			p.chans.at(ci).pending &^= outMembers\n		}\n	}\n"},
	{"an erasure is lost by a cut", "projections/erase.go",
		"	p.touchRow(ref, r)\n",
		"	if !planted(`an erasure is lost by a cut`) {\n		p.touchRow(ref, r)\n	}\n"},
	{"an erasure forgets no receipts", "projections/erase.go",
		"	p.forgetReceipts(c, r)\n",
		"	if !planted(`an erasure forgets no receipts`) {\n		p.forgetReceipts(c, r)\n	}\n"},
	{"what changes back is not told", "projections/thread_fold.go",
		"	if p.threadSignature(c, r) != f.seen {",
		"	if p.threadSignature(c, r) != f.seen && !planted(`what changes back is not told`) {"},
}

// plantedSeeds is how many seeds the simulator has for a bug. Most take a few.
const plantedSeeds = 2000

// plantedEnv names the bug that a build with all of them has.
const plantedEnv = "TIDEMARK_PLANTED"

// TestPlantedBugsAreFound plants one bug at a time and wants the simulator to find it.
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
		_, said, found := strings.Cut(string(out), "found after ")
		if err != nil || !found {
			t.Errorf("%s: not found: %v\n%.2000s", b.name, err, out)
			continue
		}
		seeds, _, _ := strings.Cut(said, "\n")
		t.Logf("%-48s found after %s", b.name, seeds)
	}
}

// TestFindPlanted is run by TestPlantedBugsAreFound in a build with a bug.
func TestFindPlanted(t *testing.T) {
	if os.Getenv(plantedEnv) == "" {
		t.Skip("no bug is planted")
	}
	for seed := range uint64(plantedSeeds) {
		if wrong := runSim(drawPlan(seed)); wrong != "" {
			first, _, _ := strings.Cut(wrong, "\n")
			fmt.Printf("found after %s: %.150s\n", plural(seed+1, "seed"), first)
			return
		}
	}
	t.Errorf("%d seeds do not find it", plantedSeeds)
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
	root, err := filepath.Abs("..")
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
