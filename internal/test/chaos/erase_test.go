package chaos

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/internal/test/checker"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// staffLeft is the number of people who are never erased.
const staffLeft = 15

// erasure is the erasure of one user while nodes die: runs of tidemark erase-user, some of which
// are killed as well, until one reports that everything is folded and nothing of the user is left.
type erasure struct {
	user   string
	runs   int
	killed int
	done   chan struct{}
	err    error // once done: why the erasure never completed
}

// erase dismisses a user and begins to erase them. The command writes the events itself, so the
// machine determines where they arrive among the others.
func (a *attack) erase() {
	a.t.Helper()
	staff := a.w.Staff()
	if len(staff) <= staffLeft {
		return
	}
	e := &erasure{user: staff[a.r.IntN(len(staff))], done: make(chan struct{})}
	a.w.Dismiss(e.user)
	// Records in flight would otherwise follow the erasure.
	if err := a.client.Flush(context.Background()); err != nil {
		a.t.Fatal(err)
	}
	a.erasures = append(a.erasures, e)
	var lives []time.Duration // durations of the runs that are killed
	for range a.r.IntN(3) {
		lives = append(lives, time.Duration(a.r.Int64N(int64(2*time.Second))))
	}
	var cmds []*exec.Cmd
	for i := range 200 {
		cmds = append(cmds, command(a.t, "erase-user", "--yes", "--user", e.user, "--brokers", strings.Join(a.kafka.Brokers, ","), "--redis", a.redis.URL,
			"--addr", a.nodes[i%len(a.nodes)].url, "--wait", "10s"))
	}
	ctx, cancel := context.WithTimeout(context.Background(), longPatience)
	a.t.Cleanup(func() { cancel(); <-e.done })
	go func() {
		defer close(e.done)
		defer cancel()
		for _, cmd := range cmds {
			e.runs++
			life := longPatience
			if len(lives) > 0 {
				life, lives = lives[0], lives[1:]
			}
			var ended, cut bool
			if ended, cut, e.err = runFor(ctx, cmd, life); ended || ctx.Err() != nil {
				return
			}
			if cut {
				e.killed++
			}
			select { // as a person reads the output before running it again
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
}

// runFor runs a command and kills it after life. It reports whether the command completed, and
// otherwise its error.
func runFor(ctx context.Context, cmd *exec.Cmd, life time.Duration) (ended, cut bool, err error) {
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		return false, false, err
	}
	out := make(chan error, 1)
	go func() { out <- cmd.Wait() }()
	kill := time.NewTimer(life)
	defer kill.Stop()
	select {
	case err = <-out:
	case <-kill.C:
		cut = true
		_ = cmd.Process.Kill() // it may have just ended
		err = <-out
	case <-ctx.Done():
		_ = cmd.Process.Kill()
		err = <-out
	}
	if err != nil {
		return false, cut, fmt.Errorf("%s: %w\n%s", cmd, err, output.Bytes())
	}
	return true, cut, nil
}

// erased waits until all erasures are complete, and returns their users.
func (a *attack) erased() (users []string) {
	a.t.Helper()
	for _, e := range a.erasures {
		a.until(e.user+" is erased", func() bool {
			select {
			case <-e.done:
				return true
			default:
				return false
			}
		})
		if e.err != nil {
			a.t.Fatalf("%s is not erased after %d runs: %v", e.user, e.runs, e.err)
		}
		a.t.Logf("%s was erased by %d runs of erase-user, %d of which were killed", e.user, e.runs, e.killed)
		users = append(users, e.user)
	}
	return users
}

// checkGone queries every node for erased users and must find nothing. The log must have their
// erasures.
func (c *cluster) checkGone(tr *checker.Log, users []string) *checker.Findings {
	c.t.Helper()
	f := &checker.Findings{What: "answers about users who were erased"}
	ctx, cancel := context.WithTimeout(context.Background(), longPatience)
	defer cancel()
	for _, user := range users {
		if !tr.Erased(user) {
			f.Add("%s: the log has no erasure of them", user)
		}
	}
	for _, n := range c.nodes {
		client := queryv1connect.NewQueryServiceClient(http.DefaultClient, n.url)
		for _, user := range users {
			known, err := ask(ctx, c, client.ListUserChannels, &queryv1.ListUserChannelsRequest{OfUserId: user, PageSize: 1000, After: tr.After})
			if err != nil {
				f.Add("channels of %s: %s says %v", user, n.name, err)
				continue
			}
			if len(known.Channels) == 0 {
				f.Add("%s has no channel of %s, and each channel should have kept the erasure", n.name, user)
			}
			for _, channel := range known.Channels {
				if channel.Member || !channel.Erased {
					f.Add("%s, %s: %s says member %t, erased %t", user, channel.ChannelId, n.name, channel.Member, channel.Erased)
				}
			}
			inbox, err := ask(ctx, c, client.GetInbox, &queryv1.GetInboxRequest{UserId: user, After: tr.After})
			if err != nil || len(inbox.Channels) > 0 || inbox.GetTotals().GetUnread() > 0 {
				f.Add("inbox of %s: %s says %v, %v", user, n.name, inbox, err)
			}
			threads, err := ask(ctx, c, client.GetThreads, &queryv1.GetThreadsRequest{UserId: user, After: tr.After})
			if err != nil || len(threads.Threads) > 0 {
				f.Add("threads of %s: %s says %v, %v", user, n.name, threads, err)
			}
		}
	}
	client := queryv1connect.NewQueryServiceClient(http.DefaultClient, c.nodes[0].url)
	for _, channel := range tr.Channels() {
		c.checkGoneFromLists(ctx, client, tr, channel, users, f)
	}
	return f
}

// checkGoneFromLists fails if one of the users is among a channel's readers or the recipients of
// its latest message.
func (c *cluster) checkGoneFromLists(ctx context.Context, client queryv1connect.QueryServiceClient, tr *checker.Log, channel string, users []string, f *checker.Findings) {
	readers, err := ask(ctx, c, client.GetReaders, &queryv1.GetReadersRequest{ChannelId: channel, PageSize: 1000, After: tr.After})
	if err != nil {
		if connect.CodeOf(err) != connect.CodeNotFound {
			f.Add("readers of %s: %v", channel, err)
		}
		return
	}
	for _, r := range readers.Readers {
		if slices.Contains(users, r.UserId) {
			f.Add("%s is among the readers of %s", r.UserId, channel)
		}
	}
	v, ok := tr.View(stranger, channel)
	if !ok || v.Latest.MessageID == "" {
		return
	}
	receipts, err := ask(ctx, c, client.GetReceipts, &queryv1.GetReceiptsRequest{ChannelId: channel, MessageId: v.Latest.MessageID,
		PageSize: 1000, After: tr.After})
	if err != nil {
		f.Add("receipts of %s in %s: %v", v.Latest.MessageID, channel, err)
		return
	}
	for _, r := range receipts.Recipients {
		if slices.Contains(users, r.UserId) {
			f.Add("%s is among the recipients of %s in %s", r.UserId, v.Latest.MessageID, channel)
		}
	}
}
