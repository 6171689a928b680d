package processor

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// kgo may leave a goroutine behind after a leave from a group that had already lost the member.
// kafkaadmin.Leave does not wait for it.
func TestMain(m *testing.M) {
	testkit.LeakFree(m, goleak.IgnoreAnyFunction("github.com/twmb/franz-go/pkg/kgo.(*Client).LeaveGroupContext.func1"))
}
