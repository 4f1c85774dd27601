package trial

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Messages returns the messages of the client that match.
func (r *Run) Messages(match func(*peer.Message) bool) []*peer.Message {
	return slices.DeleteFunc(r.Tape.Messages(), func(m *peer.Message) bool { return !match(m) })
}

// Sent returns the messages of a method.
func (r *Run) Sent(method string) []*peer.Message {
	return r.Messages(func(m *peer.Message) bool { return m.Method() == method })
}

// Calls returns the tools/call requests of a tool.
func (r *Run) Calls(tool string) []*peer.Message {
	return r.Messages(func(m *peer.Message) bool {
		return m.Method() == mcp.MethodToolsCall && rawjson.Text(m.Param("name")) == tool
	})
}

// Responses returns the responses of the client.
func (r *Run) Responses() []*peer.Message { return r.Messages((*peer.Message).IsResponse) }

// AnswersTo returns the responses to the server's request of that id, JSON.
func (r *Run) AnswersTo(id string) []*peer.Message {
	return r.Messages(func(m *peer.Message) bool { return m.IsResponse() && m.ID() == id })
}

// Requests returns the requests between two positions of the tape, without pings.
func (r *Run) Requests(from, to int) []*peer.Message {
	return r.Messages(func(m *peer.Message) bool {
		return m.IsRequest() && m.Seq > from && m.Seq < to && m.Method() != mcp.MethodPing
	})
}

// RequestsAfter returns the requests after a position of the tape, without pings.
func (r *Run) RequestsAfter(seq int) []*peer.Message { return r.Requests(seq, int(^uint(0)>>1)) }

// Step returns the lines of the ith step of the scenario, from 0. Connect is step -1.
func (r *Run) Step(i int) []Line {
	return slices.DeleteFunc(slices.Clone(r.Lines), func(l Line) bool { return l.Step != i+1 })
}

// Declares reports whether the client declared a capability, or a part of one.
func (r *Run) Declares(path ...string) bool {
	return slices.ContainsFunc(r.Tape.Messages(), func(m *peer.Message) bool { return Declared(m, path...) })
}

// Declared reports whether a message declares a capability, or a part of one.
func Declared(m *peer.Message, path ...string) bool {
	return m.Param(append([]string{"capabilities"}, path...)...) != nil || m.Param(append([]string{"_meta", mcp.MetaClientCapabilities}, path...)...) != nil
}

// Offered returns the version that the client's first initialize offers, "" without one.
func (r *Run) Offered() string {
	if opened := r.Sent(mcp.MethodInitialize); len(opened) > 0 {
		return rawjson.Text(opened[0].Param("protocolVersion"))
	}
	return ""
}

// named returns the versions in the _meta of requests. A client of both eras names one in
// its probe, too.
func (r *Run) named() (versions []string) {
	for _, m := range r.RequestsAfter(0) {
		if v := rawjson.Text(m.Param("_meta", mcp.MetaProtocolVersion)); v != "" {
			versions = append(versions, v)
		}
	}
	return versions
}

// Speaks reports whether the client used the revision of the run: it named it in a request,
// or went on after initialize was answered with it.
func (r *Run) Speaks() bool {
	if r.Stateless() {
		return slices.Contains(r.named(), string(r.Revision))
	}
	opened := r.Sent(mcp.MethodInitialize)
	return len(opened) > 0 && opened[0].Answered != 0 && slices.ContainsFunc(r.Tape.Messages(), func(m *peer.Message) bool {
		used := m.IsRequest() && m.Method() != mcp.MethodInitialize && m.Method() != mcp.MethodDiscover && m.Method() != mcp.MethodPing
		return m.Seq > opened[0].Answered && (used || m.Method() == mcp.MethodInitialized)
	})
}

// Unspoken explains what the client speaks instead of the revision of the run. It is "" unless
// the messages show that: a client that is only broken is judged.
func (r *Run) Unspoken() string {
	offered, named := r.Offered(), r.named()
	switch {
	case r.Speaks():
		return ""
	case r.Stateless() && len(named) > 0:
		return fmt.Sprintf("its requests name %s, never %s", named[len(named)-1], r.Revision)
	case r.Stateless() && offered != "":
		return fmt.Sprintf("it offers %s in initialize, and no request names %s", offered, r.Revision)
	case r.Stateless():
		return ""
	case offered != "" && offered != string(r.Revision):
		return fmt.Sprintf("it offers %s, and leaves when the server answers %s", offered, r.Revision)
	case offered == "" && len(named) > 0:
		return fmt.Sprintf("its requests name %s, and it sends no initialize", named[0])
	}
	return ""
}

// OldOffer returns the version of the client's initialize if it is older than the revision
// of the run and the client went on with that revision all the same, else "".
func (r *Run) OldOffer() string {
	if v, known := mcp.ParseVersion(r.Offered()); known && v != r.Revision && r.Revision.AtLeast(v) && !r.Stateless() && r.Speaks() {
		return string(v)
	}
	return ""
}

// Names returns the methods of messages, for a report.
func Names(all []*peer.Message) string {
	if len(all) == 0 {
		return "nothing"
	}
	var names []string
	for i, m := range all {
		if i == 5 {
			return strings.Join(names, ", ") + fmt.Sprintf(" and %d more", len(all)-i)
		}
		switch {
		case m.Method() != "":
			names = append(names, m.Method())
		case m.IsResponse():
			names = append(names, "a response")
		case m.Verb != "":
			names = append(names, m.Verb)
		default:
			names = append(names, "an invalid message")
		}
	}
	return strings.Join(names, ", ")
}

// Contents returns the bytes of messages, for a report.
func Contents(all []*peer.Message) string {
	if len(all) == 0 {
		return "nothing"
	}
	out := string(all[0].Data)
	for _, m := range all[1:] {
		out += " and " + string(m.Data)
	}
	return rawjson.Clip(out, 300)
}

// Cancels reports whether the client canceled a request: by a notification, or over HTTP in
// the stateless era by closing the stream.
func (r *Run) Cancels(request *peer.Message) bool {
	for _, m := range r.Sent(mcp.MethodCancelled) {
		if string(m.Param("requestId")) == request.ID() {
			return true
		}
	}
	return r.Stateless() && r.OverHTTP() && request.Left != 0
}

// Asked reports whether a tool was called and the client declared a capability, so that the
// server could use it. Otherwise the checks are inconclusive, or skipped.
func (t *Trial) Asked(capability string) bool {
	if !t.Needs(len(t.Sent(mcp.MethodToolsCall)) > 0, "echo was not called") {
		return false
	}
	if !t.Declares(capability) {
		t.SkipAll("the client does not declare " + capability)
		return false
	}
	return true
}
