package jsonrpc

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	hurry()
	goleak.VerifyTestMain(m)
}
