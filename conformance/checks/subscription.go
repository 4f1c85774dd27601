package checks

import (
	"encoding/json"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// subscription is an open subscriptions/listen.
type subscription struct {
	s   *wire.Session
	id  string // of the request, as JSON
	ack wire.Inbound
}

// listen opens a subscription with a filter and waits for what comes first.
func listen(t *conformance.Trial, s *wire.Session, filter map[string]any) (*subscription, error) {
	return listenAs(t, s, s.NewID(), filter)
}

// listenAs is listen with an id of the caller's.
func listenAs(t *conformance.Trial, s *wire.Session, id string, filter map[string]any) (*subscription, error) {
	sub := &subscription{s: s, id: id}
	seen := len(s.Notes)
	if _, err := s.Send(t.Ctx, s.Message(id, mcp.MethodSubscriptionsListen, map[string]any{"notifications": filter})); err != nil {
		return sub, err
	}
	for _, in := range s.Notes[seen:] {
		if sub.owns(in) {
			sub.ack = in
			return sub, nil
		}
	}
	in, err := s.Next(t.Ctx, func(in wire.Inbound) bool {
		return sub.owns(in) || in.IsResponse() && in.ID() == id || in.Ended && in.To == id
	})
	sub.ack = in
	return sub, err
}

// owns reports whether a message of the server belongs to the subscription: by
// the stream it came on, else by its id.
func (sub *subscription) owns(in wire.Inbound) bool {
	if in.Members == nil || in.IsResponse() {
		return false
	}
	return in.To == sub.id || in.To == "" && string(sub.subscription(in)) == sub.id
}

// subscription returns the id that a notification, or the response that ends the
// subscription, carries.
func (sub *subscription) subscription(in wire.Inbound) json.RawMessage {
	params, _ := rawjson.Object(in.Members["params"])
	if in.IsResponse() {
		params, _ = rawjson.Object(in.Members["result"])
	}
	meta, _ := rawjson.Object(params["_meta"])
	return meta[mcp.MetaSubscriptionID]
}

// honours reports whether the acknowledgment, when there is one, has these parts of
// the filter. That there is none is judged by CHG-04.
func (sub *subscription) honours(parts ...string) bool {
	if sub.ack.Method() != mcp.MethodSubscriptionsAcknowledged {
		return true
	}
	honoured, _ := rawjson.Object(paramMember(sub.ack, "notifications"))
	return !slices.ContainsFunc(parts, func(part string) bool {
		v := string(honoured[part])
		return v == "" || v == "false" || v == "null" || v == "[]"
	})
}

// noted returns the notifications of a method that came for the subscription.
func (sub *subscription) noted(method string) []wire.Inbound {
	var out []wire.Inbound
	for _, in := range sub.s.Noted(method) {
		if sub.owns(in) {
			out = append(out, in)
		}
	}
	return out
}

// next waits for a notification of a method that has not come yet.
func (sub *subscription) next(t *conformance.Trial, method string) (wire.Inbound, error) {
	had := len(sub.noted(method))
	if had > 0 {
		return sub.noted(method)[had-1], nil
	}
	return sub.s.Next(t.Ctx, func(in wire.Inbound) bool { return in.Method() == method && sub.owns(in) })
}

// end closes the subscription the way of its transport (CHG-07).
func (sub *subscription) end(t *conformance.Trial) error {
	if w, ok := sub.s.Conn.(*wire.HTTPConn); ok {
		w.Abandon(sub.id)
		return nil
	}
	_, err := sub.s.Send(t.Ctx, wire.Message("", mcp.MethodCancelled, map[string]any{"requestId": json.RawMessage(sub.id)}))
	return err
}
