package wire

import (
	"context"
	"time"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// Stage is how far a conversation with a program has come, for scenarios that take over the
// program of another.
type Stage int

// The stages.
const (
	// StageLost: the program is not used again.
	StageLost Stage = iota
	// StageGreeted: initialize was answered, and nothing but ping was sent besides.
	StageGreeted
	// StageOpen: the program is as after a handshake.
	StageOpen
	// StageSpent: the program answers, but its state may have changed.
	StageSpent
)

// Stage returns how far the conversation has come. Only a program has a stage: other
// connections cost nothing.
func (s *Session) Stage() Stage {
	w, ok := s.Conn.(*StdioConn)
	if !ok || w.Terminate == nil || w.Exited() || s.Closed || s.Doubt != nil || s.Flooded || s.Opened == nil {
		return StageLost
	}
	clean, greeted := !s.SentBadID && !s.SentArray && s.Declares == nil && s.Answers == nil, !s.ready
	for id, method := range s.Methods {
		answered, asked := s.Pending[id]
		if asked && !answered && method != "" && method != s.LifeSign() {
			return StageSpent // it may still be at work
		}
		switch method {
		case mcp.MethodInitialize, mcp.MethodPing:
		case mcp.MethodLoggingSetLevel, mcp.MethodResourcesSubscribe:
			return StageSpent
		default:
			greeted = false
		}
	}
	switch {
	case !clean:
		return StageSpent
	case greeted && s.Stateless == "":
		return StageGreeted
	case s.ready || s.Stateless != "":
		return StageOpen
	}
	return StageSpent
}

// restWait bounds the wait for the answers to two pings between scenarios.
const restWait = time.Second

// Rest makes the session ready for another scenario and returns its stage. The server has to
// answer two pings, and nothing else may come.
func (s *Session) Rest(ctx context.Context) Stage {
	stage, wait := s.Stage(), s.Timeout
	if stage == StageLost {
		return stage
	}
	s.Timeout = min(wait, restWait)
	stray, err := s.Settle(ctx)
	s.Timeout = wait
	if err != nil || len(stray) > 0 || len(s.batched) > 0 {
		return StageLost
	}
	s.Unclaimed, s.Unsolicited, s.kept, s.keptBytes = nil, nil, 0, 0
	return stage
}
