package processor

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// kgo may leave a goroutine of a leave whose group had lost the member: kafkaadmin.Leave gives it up.
func TestMain(m *testing.M) {
	testkit.LeakFree(m, goleak.IgnoreAnyFunction("github.com/twmb/franz-go/pkg/kgo.(*Client).LeaveGroupContext.func1"))
}
