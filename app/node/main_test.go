package node_test

import (
	"testing"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

func TestMain(m *testing.M) { testkit.LeakFree(m) }
