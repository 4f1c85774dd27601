package coe

import (
	"context"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/params"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// resetMethod is S1's reset for tests: everything is as when the server started
// on an empty folder (S1-TRANS-08). Like [injectMethod] it does not exist unless
// the server was started with fault injection, for it deletes what is stored.
const resetMethod = "_test/reset"

type resetAnswer struct {
	Success bool `json:"success"`
}

func (s *server) reset(ctx context.Context, fc *family.Call) (any, error) {
	if err := params.Read(fc.Arguments).Err(); err != nil {
		return nil, numericError(err)
	}
	s.faults.Clear() // a database that is down could not be emptied
	if err := s.board.reset(ctx); err != nil {
		return nil, numericError(err)
	}
	s.limits.Reset()
	for _, f := range s.opts.Faults {
		s.faults.Add(f)
	}
	return &resetAnswer{Success: true}, nil
}
