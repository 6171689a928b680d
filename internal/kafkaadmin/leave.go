package kafkaadmin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/guard"
)

// Leave takes a consumer out of its group and closes it, even if the brokers hang: it waits for
// their answer no longer than patience, and about a second more for the close. Its error means that
// the group may not have received the leave; other members then wait for the session to time out.
// kgo's own Close waits as long as a request may take.
//
// If a broker does not answer a join, Leave returns as well. kgo then waits for that answer in the
// background, and ends its goroutines and connections after the rebalance timeout and 3 seconds at
// the latest, a minute by default. kgo accepts no context for a join.
func Leave(client *kgo.Client, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client.AllowRebalance()
	err := client.LeaveGroupContext(ctx)
	if !guard.Within(closePatience, "closing a consumer", nobody, client.CloseAllowingRebalance) && err == nil {
		err = errors.New("the client does not close")
	}
	if err != nil {
		return fmt.Errorf("leaving the group failed (%w): its other members wait until the session times out", err)
	}
	return nil
}

// nobody ignores a panic of the closing client, which is no longer used.
func nobody(*guard.Error) {}

// closePatience is a little more than the time in which a client closes without an answer.
const closePatience = 1500 * time.Millisecond

// LeavePatience is how long a stopping consumer waits for its group's answer, which only helps the
// other members.
const LeavePatience = 2 * time.Second
