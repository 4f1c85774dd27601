package fleetredis

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// lines is what go-redis would write to stderr.
var lines recorder

type recorder struct {
	mu  sync.Mutex
	all []string
}

// Printf takes a line of go-redis.
func (r *recorder) Printf(_ context.Context, format string, v ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, fmt.Sprintf(format, v...))
}

func TestMain(m *testing.M) {
	redis.SetLogger(&lines)
	testmain.Run(m)
}
