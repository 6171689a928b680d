package chaos

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/test/checker"
	"github.com/tidemark/tidemark/processor"
)

// checkDead compares the dead letters with the log.
func checkDead(tr *checker.Log, records []*kgo.Record) *checker.Findings {
	var letters []checker.DeadLetter
	for _, r := range records {
		headers := map[string]string{}
		for _, h := range r.Headers {
			headers[h.Key] = string(h.Value)
		}
		letters = append(letters, checker.DeadLetter{Record: r,
			Source:    fmt.Sprintf("%s/%s/%s", headers[processor.HeaderTopic], headers[processor.HeaderPartition], headers[processor.HeaderOffset]),
			Reason:    headers[processor.HeaderReason],
			Detail:    headers[processor.HeaderDetail],
			Timestamp: headers[processor.HeaderTimestamp],
		})
	}
	return checker.DeadLetters(tr, letters, nil)
}
