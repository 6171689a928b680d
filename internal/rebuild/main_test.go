package rebuild

import (
	"testing"

	"github.com/tidemark/tidemark/internal/testkit"
)

func TestMain(m *testing.M) { testkit.LeakFree(m) }
