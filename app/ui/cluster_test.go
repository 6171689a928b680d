package ui_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// TestAllNodes: one node shows both nodes, a gateway that it knows from --nodes, and all
// partitions, each with a link to its owner and what it needs. After the other node was killed, it
// names the node that did not answer, and the partitions of that node.
func TestAllNodes(t *testing.T) {
	brokers := testkit.FakeKafka(t).ListenAddrs()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := kafkaadmin.Create(ctx, testkit.Admin(t, brokers), events.TopicSpecs(4, 1)); err != nil {
		t.Fatal(err)
	}
	redis := "redis://" + testkit.Miniredis(t).Addr()
	var nodes [2]*process
	var urls [2]string
	_, gateway := startNode(t, nodeConfig{Brokers: brokers, Redis: redis, Listen: "127.0.0.1:0", Gateway: true})
	for i := range nodes {
		p, addr := startNode(t, nodeConfig{Brokers: brokers, Redis: redis, DataDir: filepath.Join(t.TempDir(), "state"), Listen: "127.0.0.1:0",
			Instance: fmt.Sprintf("node-%d", i+1), Nodes: []string{"http://" + gateway}})
		nodes[i], urls[i] = p, "http://"+addr
	}
	b := open(t, urls[0]+"/#cluster", 1440, 900)
	row := func(url string) string {
		return fmt.Sprintf(`document.querySelector('[data-node=%q]')?.innerText`, url)
	}
	b.until("both nodes own something", fmt.Sprintf(`[%s, %s].every((text) => /ready/.test(text) && !/not ready/.test(text) && /processor/.test(text))`, row(urls[0]), row(urls[1]))+
		` && document.querySelectorAll('[data-all-partition] .state-live').length === 4`)
	b.until("the owner of each partition is a link to its page", fmt.Sprintf(`[...document.querySelectorAll('[data-all-partition] td:nth-child(3) a')].map((a) => a.href).sort().join(' ') === %q`,
		fmt.Sprintf("%[1]s/#operators %[1]s/#operators %[2]s/#operators %[2]s/#operators", min(urls[0], urls[1]), max(urls[0], urls[1]))))
	b.until("memory and disk", fmt.Sprintf(`/MiB of 256 MiB/.test(%s) && /[1-9][\d.]* (B|KiB|MiB)/.test(document.querySelector('[data-all-partition] td:last-child').innerText)`, row(urls[1])))
	b.until("the gateway, which is in no group", fmt.Sprintf(`/not in the group/.test(%[1]s) && /query, gateway/.test(%[1]s) && /MiB/.test(%[1]s)`, row("http://"+gateway)))
	b.shot("nodes")
	b.do(chromedp.EmulateViewport(1024, 768))
	b.until("no table must be moved sideways at 1024 pixels", sideways+` === ''`)
	b.shot("nodes-1024")
	b.do(chromedp.EmulateViewport(1440, 900))
	b.click(fmt.Sprintf(`[data-node=%q] .link`, urls[1]))
	b.until("the partitions of one node", `document.querySelectorAll('[data-all-partition]').length === 2`)
	if bad := b.violations(); bad != "" {
		t.Errorf("axe: %s", bad)
	}

	nodes[1].kill()
	b.until("it says which did not answer", fmt.Sprintf(`/did not answer/.test(%s) && document.querySelector('.health.bad')?.innerText === '1 did not answer'`, row(urls[1])))
	b.until("and whose partitions those are", `document.querySelectorAll('[data-all-partition] .state-unknown').length === 2 && document.querySelector('[data-all-partition] .wrong').innerText.startsWith('its owner did not answer: no answer: dial tcp')`)
	b.click(`[data-only=wrong]`)
	b.until("the count of those that are not live", `document.querySelector('[data-only=wrong]').innerText.endsWith('2')`)
	b.shot("nodes-one-is-gone")
	if bad := b.violations(); bad != "" {
		t.Errorf("axe, with a silent node: %s", bad)
	}
	b.do(chromedpPhone())
	b.until("the phone's layout fits", `document.documentElement.scrollWidth <= innerWidth`)
	b.shot("nodes-phone")
}
