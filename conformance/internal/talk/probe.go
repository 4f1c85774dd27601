package talk

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Stray describes what came although nothing was due, or why nothing can come.
func Stray(stray []wire.Inbound, err error) string {
	if err != nil {
		return err.Error()
	}
	return rawjson.Clip(string(stray[0].Data), 160)
}

// Alive decides a check by a ping.
func Alive(t *engine.Trial, id string, s *wire.Session) {
	t.Step(s)
	t.EvidenceFrom = t.FirstFrame // what came before it is what it died of
	a, err := s.Ping(t.Ctx)
	t.Check(id, err == nil && a.Err == nil, "an answer to ping", a.OrError(err))
}

// WriteRaw writes bytes to a line wire without a line end.
func WriteRaw(t *engine.Trial, s *wire.Session, data []byte) error {
	w, ok := s.Conn.(*wire.StdioConn)
	if !ok {
		return engine.SuiteError(fmt.Errorf("transport %s has no lines", s.Conn.Transport()))
	}
	return w.Raw(t.Ctx, data)
}

// Progressing starts a call that takes a moment and reports progress.
func Progressing(t *engine.Trial, s *wire.Session, token any) (string, error) {
	params := engine.CallParams(fixture.ToolProgress, struct{}{})
	params["_meta"] = map[string]any{"progressToken": token}
	t.Calls++
	return s.Post(t.Ctx, mcp.MethodToolsCall, params)
}

// Unserved decides that a message that is no request was not taken for
// one: an error, for servers that promise more one of the codes, or silence.
func Unserved(t *engine.Trial, id string, a wire.Answer, err error, codes ...int64) {
	if t.Rev.Profiled {
		t.Check(id, a.HasCode(err, codes...), fmt.Sprintf("error %d", codes[0]), "%s", a.OrError(err))
		return
	}
	t.Check(id, err != nil || a.Err != nil, "an error, or no answer", "%s", a.OrError(err))
}

// Refusal sends a message that no server need answer and returns what it says:
// with the id of the message or with null, for both are right for one whose id
// is no id.
func Refusal(t *engine.Trial, s *wire.Session, id string, data []byte) (wire.Answer, error) {
	sent, err := s.Send(t.Ctx, data)
	if err != nil {
		return wire.Answer{}, err
	}
	wait := s.Timeout
	if sent == nil {
		if _, err := s.Settle(t.Ctx); err != nil {
			return wire.Answer{}, fmt.Errorf("the ping after the message: %w", err)
		}
		s.Timeout = min(wait, s.Silences.Lag())
	}
	in, err := s.Next(t.Ctx, func(in wire.Inbound) bool {
		if sent != nil {
			return in.To == sent.Token && (in.Ended || in.IsResponse())
		}
		got := in.ID()
		return in.IsResponse() && (got == "" || got == "null" || got == id)
	})
	s.Timeout = wait
	delete(s.Pending, id)
	if sent == nil {
		s.Silences.Note(err)
	}
	switch {
	case err == nil && in.Ended:
		err = s.Unanswered(in)
	case sent == nil && errors.Is(err, wire.ErrNoAnswer):
		s.Doubt = nil // the ping after it was answered
	}
	return wire.ToAnswer(in), err
}

// Offers reports whether the server has a tool.
func Offers(l *engine.RevisionRun, name string) bool {
	for _, tool := range l.Tools {
		if tool.Name == name {
			return true
		}
	}
	return false
}

// Unheard reports whether silence says nothing about the server: no answer came in
// time, and none comes to a ping after it.
func Unheard(t *engine.Trial, s *wire.Session, err error) bool {
	if !errors.Is(err, wire.ErrLate) {
		return false
	}
	_, lost := s.Ping(t.Ctx)
	return lost != nil
}

// Offer opens a connection and offers any version. A program that has answered another offer
// is asked again: only an answer that is right counts then.
func Offer(t *engine.Trial, v mcp.Version) (*wire.Session, wire.Answer, error) {
	if s := t.Greeted(); s != nil {
		s.Opened = nil
		a, err := s.Initialize(t.Ctx, v)
		if err == nil && s.Opened != nil && (s.Opened.Revision == v || v.Era() != mcp.EraSession && s.Opened.Revision.Era() == mcp.EraSession) {
			return s, a, nil
		}
	}
	s := t.Raw()
	a, err := s.Initialize(t.Ctx, v)
	StopIfFull(t, a, err)
	return s, a, err
}

// StopIfFull ends the scenario if the server has no room for another session, or wants fewer requests:
// it need not take any number of them.
func StopIfFull(t *engine.Trial, a wire.Answer, err error) {
	switch wire.StatusOf(err) {
	case http.StatusConflict, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		t.Stop(fmt.Errorf("the server refuses another session: %s", a.OrError(err)))
	}
}

// StrayOrSilence describes what came uncalled for, or why nothing can come.
func StrayOrSilence(stray []wire.Inbound, err error) string {
	if err == nil && len(stray) == 0 {
		return "silence"
	}
	return Stray(stray, err)
}
