package conformance

import (
	"encoding/json"
	"slices"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// subscription is an open subscriptions/listen.
type subscription struct {
	s   *session
	id  string // of the request, as JSON
	ack inbound
}

// listen opens a subscription with a filter and waits for what comes first.
func (t *trial) listen(s *session, filter map[string]any) (*subscription, error) {
	return t.listenAs(s, s.newID(), filter)
}

// listenAs is listen with an id of the caller's.
func (t *trial) listenAs(s *session, id string, filter map[string]any) (*subscription, error) {
	sub := &subscription{s: s, id: id}
	seen := len(s.notes)
	if _, err := s.send(t.ctx, s.message(id, mcp.MethodSubscriptionsListen, map[string]any{"notifications": filter})); err != nil {
		return sub, err
	}
	for _, in := range s.notes[seen:] {
		if sub.owns(in) {
			sub.ack = in
			return sub, nil
		}
	}
	in, err := s.next1(t.ctx, func(in inbound) bool {
		return sub.owns(in) || in.isResponse() && in.id() == id || in.ended && in.to == id
	})
	sub.ack = in
	return sub, err
}

// owns reports whether a message of the server belongs to the subscription: by
// the stream it came on, else by its id.
func (sub *subscription) owns(in inbound) bool {
	if in.members == nil || in.isResponse() {
		return false
	}
	return in.to == sub.id || in.to == "" && string(sub.subscription(in)) == sub.id
}

// subscription returns the id that a notification, or the response that ends the
// subscription, carries.
func (sub *subscription) subscription(in inbound) json.RawMessage {
	params, _ := object(in.members["params"])
	if in.isResponse() {
		params, _ = object(in.members["result"])
	}
	meta, _ := object(params["_meta"])
	return meta[mcp.MetaSubscriptionID]
}

// honours reports whether the acknowledgment, when there is one, has these parts of
// the filter. That there is none is judged by CHG-04.
func (sub *subscription) honours(parts ...string) bool {
	if sub.ack.method() != mcp.MethodSubscriptionsAcknowledged {
		return true
	}
	honoured, _ := object(paramMember(sub.ack, "notifications"))
	return !slices.ContainsFunc(parts, func(part string) bool {
		v := string(honoured[part])
		return v == "" || v == "false" || v == "null" || v == "[]"
	})
}

// noted returns the notifications of a method that came for the subscription.
func (sub *subscription) noted(method string) []inbound {
	var out []inbound
	for _, in := range sub.s.noted(method) {
		if sub.owns(in) {
			out = append(out, in)
		}
	}
	return out
}

// next waits for a notification of a method that has not come yet.
func (sub *subscription) next(t *trial, method string) (inbound, error) {
	had := len(sub.noted(method))
	if had > 0 {
		return sub.noted(method)[had-1], nil
	}
	return sub.s.next1(t.ctx, func(in inbound) bool { return in.method() == method && sub.owns(in) })
}

// end closes the subscription the way of its transport (CHG-07).
func (sub *subscription) end(t *trial) error {
	if w, ok := sub.s.wire.(*httpWire); ok {
		w.abandon(sub.id)
		return nil
	}
	_, err := sub.s.send(t.ctx, message("", mcp.MethodCancelled, map[string]any{"requestId": json.RawMessage(sub.id)}))
	return err
}
