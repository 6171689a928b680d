package paths

import (
	"slices"
	"strings"
	"testing"
)

// oldHelp and newHelp are excerpts of `tidemark run --help` of two releases.
const oldHelp = `Usage: tidemark run [flags]

Example:

    tidemark run --brokers kafka-1:9092 --redis-values packed \
        --listen 10.0.0.5:8080

Flags:
  -h, --help                       Show context-sensitive help.

      --topic-prefix=PREFIX        Prefix of the names of all topics.
      --brokers=HOST:PORT,...      Kafka brokers to begin with (127.0.0.1:9092)
      --redis=URL                  Redis. Behind a load
                                   balancer: --redis-keys
      --roles=ROLE,...             What this node does
      --group=NAME                 Consumer group
      --data-dir=DIR               Where the stores are
      --listen=HOST:PORT           Where queries are served
      --memory=SIZE                Memory limit
      --fanout-limit=N             Members above which
      --log-level=LEVEL            Least level of log lines
`

const newHelp = oldHelp + `
Redis (with the role cache):
  --redis-values=json|packed    How values are written
  --redis-keys=FAMILY,...       Families of keys
`

func TestFlagsOfAHelpText(t *testing.T) {
	got := parseFlags([]byte(oldHelp))
	if len(got) != 11 || !got["--help"] || !got["--topic-prefix"] || !got["--log-level"] {
		t.Errorf("got %v", got)
	}
	if got["--redis-values"] || got["--redis-keys"] {
		t.Error("what the text only mentions is a flag")
	}
}

// TestNodeGetsTheFlagsOfItsLine: Redis only with the cache, and packed values only for a binary
// that knows them.
func TestNodeGetsTheFlagsOfItsLine(t *testing.T) {
	older, newer := parseFlags([]byte(oldHelp)), parseFlags([]byte(newHelp))
	at := place{brokers: "b:1,b:2", redis: "redis://r", dir: "/d", listen: "l:1", prefix: "p.", group: "g"}
	plain := []string{"run", "--roles=processor", "--brokers=b:1,b:2", "--topic-prefix=p.", "--group=g", "--data-dir=/d", "--listen=l:1",
		"--memory=1GiB", "--fanout-limit=0", "--log-level=error"}
	cached := append(slices.Clone(plain), "--redis=redis://r")
	cached[1] = "--roles=processor,cache"
	for _, c := range []struct {
		line line
		want []string
	}{
		{line{fanout: "0", memory: "1GiB"}, plain},
		{line{fanout: "0", memory: "1GiB", cache: true}, cached},
		{line{fanout: "0", memory: "1GiB", cache: true, packed: true}, append(slices.Clone(cached), "--redis-values=packed", "--redis-keys=inbox")},
	} {
		got, err := c.line.args(newer, at)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%+v: got %q, %v, want %q", c.line, got, err, c.want)
		}
		if c.line.runs(older) == c.line.packed || !c.line.runs(newer) {
			t.Errorf("%+v: runs %v with the old flags, %v with the new ones", c.line, c.line.runs(older), c.line.runs(newer))
		}
	}
	delete(older, "--topic-prefix")
	if _, err := (line{}).args(older, at); err == nil || !strings.Contains(err.Error(), "--topic-prefix") {
		t.Errorf("without a flag that every line needs: %v", err)
	}
}
