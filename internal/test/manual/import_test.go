package manual

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/transcript"
)

// importing are the headings of docs/reference.md whose commands need a database.
var importing = []string{"import", "bridge", "compare", "heal", "demo-source"}

// database is a site with a PostgreSQL.
type database struct {
	*site
	host string
}

// newDatabase starts a site. It uses the PostgreSQL at host, or starts one if host is empty.
func newDatabase(t *testing.T, page, host string) *database {
	t.Helper()
	if host == "" {
		u, err := url.Parse(testkit.Postgres(t))
		if err != nil {
			t.Fatal(err)
		}
		host = u.Host
	}
	d := &database{host: host, site: newSite(t, page, "postgres://reader@db/", "postgres://reader@"+host+"/", "postgres://me@127.0.0.1/", "postgres://tidemark@"+host+"/")}
	name, port, _ := strings.Cut(host, ":")
	d.Env = append(d.Env, "PGHOST="+name, "PGPORT="+port, "PGUSER=tidemark", "PGDATABASE=postgres")
	return d
}

// prefixed makes all later verbs and nodes use the topics that the pages import into.
func (d *database) prefixed() { d.Env = append(d.Env, "TIDEMARK_TOPIC_PREFIX=v2.") }

// bridges starts a bridge, waits until it is ready, and ends it.
func (d *database) bridges(name string) {
	d.t.Helper()
	command := strings.TrimSpace(d.Replace.Replace(d.next(name).Command))
	_, listen, _ := strings.Cut(command, "--listen ")
	d.Start(d.t, command, "http://"+listen).Kill()
}

// plays lets the users of a demo act for some seconds.
func (d *database) plays(name string) {
	d.t.Helper()
	play := strings.TrimSpace(d.next(name).Command)
	if out, err := d.Run(d.t, fmt.Sprintf("timeout -s INT 3 %s --every 100ms", play)); err != nil && !strings.Contains(err.Error(), "124") {
		d.t.Errorf("%s: %v\n%s", play, err, out)
	}
}

// mapping copies the page's mapping into the folder.
func (d *database) mapping() {
	d.t.Helper()
	text, err := os.ReadFile("../../../docs/import/table.yml")
	if err == nil {
		err = os.WriteFile(filepath.Join(d.Dir, "table.yml"), text, 0o600)
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// TestImportSynapse runs the commands of docs/import/synapse.md, except its tour, on the tables of
// demo-source, and then the commands of docs/reference.md for the same product.
func TestImportSynapse(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, "docs/import/synapse.md", "")
	d.does("createdb synapse && tidemark demo-source synapse --source postgres://me@127.0.0.1/synapse")
	d.runs("Rights and commands", 3, transcript.Masked)
	d.prefixed()
	d.start()
	d.runs("Compare", 1, transcript.Masked)
	d.runs("Heal", 3, transcript.Masked)
	if out, _ := d.Run(t, "tidemark compare synapse --source postgres://reader@db/synapse --all"); !strings.Contains(out, "theirs_wrong          0 ") {
		t.Errorf("after heal it prints\n%s", out)
	}
	d.stop()

	live := newDatabase(t, "docs/import/synapse.md", d.host) // an import with a slot needs empty topics
	live.does("tidemark topics create --topic-prefix v2.")
	live.runs("Go live, and back", 3, transcript.Masked)
	live.bridges("Go live, and back")
	delete(d.steps, "A tour") // internal/test/synapse types it
	d.steps["Go live, and back"] = nil
	d.allRun()

	all := newDatabase(t, "docs/reference.md", d.host)
	all.Dir, all.Env, all.Replace, all.Restore = live.Dir, live.Env, live.Replace, live.Restore
	all.node, all.kafka, all.redis = live.node, live.kafka, live.redis
	all.bridges("bridge")
	all.prefixed()
	all.start()
	if out, _ := all.Run(t, strings.TrimSpace(all.next("compare").Command)+" --slot chat"); !strings.Contains(out, "28 numbers of 9 users compared") {
		t.Errorf("compare prints\n%s", out)
	}
	heal := all.next("heal")
	heal.Command = strings.Replace(heal.Command, " > ", " --slot chat > ", 1)
	all.step(heal, transcript.Masked)
	all.stop()
	all.does("createdb another")
	demo := all.next("demo-source")
	all.does(strings.Replace(demo.Command, "127.0.0.1/synapse", "127.0.0.1/another", 1))
}

// TestImportTable runs the commands of docs/import/table.md on the files and tables of
// demo-source.
func TestImportTable(t *testing.T) {
	t.Parallel()
	files := newSite(t, "docs/import/table.md")
	files.does("mkdir -p docs/import && tidemark demo-source table --source docs/import/example")
	files.does("tidemark topics create")
	files.start()
	files.runs("Try it", 2, transcript.Masked)
	files.runs("Compare", 1, transcript.Masked)
	page := files.next("See it on the page")
	if out, err := files.Run(t, page.Command); err == nil || err.Error() != "exit status 3" { // there are differences
		t.Errorf("%s: %v\n%s", page.Command, err, out)
	}
	if out := files.does("cat compare.ndjson"); !strings.Contains(out, `"bucket":"policy"`) {
		t.Errorf("%s writes\n%s", page.Command, out)
	}
	files.stop()

	d := newDatabase(t, "docs/import/table.md", "")
	d.mapping()
	d.does("createdb chat && tidemark demo-source table --source postgres://me@127.0.0.1/chat")
	d.runs("From a database", 3, transcript.Masked)
	d.prefixed()
	d.start()
	d.runs("Heal", 3, transcript.Masked)
	d.stop()

	live := newDatabase(t, "docs/import/table.md", d.host)
	live.mapping()
	live.does("tidemark topics create --topic-prefix v2.")
	live.runs("Follow the database", 3, transcript.Masked)
	live.bridges("Follow the database")
	live.runs("Follow the database", 2, transcript.Masked)
	live.plays("Follow the database")
	for _, name := range []string{"Try it", "Compare", "See it on the page", "Follow the database"} {
		d.steps[name] = nil
	}
	d.allRun()

	all := newSite(t, "docs/reference.md")
	all.does("tidemark topics create --topic-prefix v2. && tidemark demo-source table --source ./export")
	all.runs("import", 1, transcript.Masked)
}
