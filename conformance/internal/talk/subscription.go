package talk

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Subscription is an open subscriptions/listen.
type Subscription struct {
	s   *wire.Session
	ID  string // of the request, as JSON
	Ack wire.Inbound
}

// Listen opens a subscription with a filter and waits for what comes first.
func Listen(t *engine.Trial, s *wire.Session, filter map[string]any) (*Subscription, error) {
	return ListenAs(t, s, s.NewID(), filter)
}

// ListenAs is listen with an id of the caller's.
func ListenAs(t *engine.Trial, s *wire.Session, id string, filter map[string]any) (*Subscription, error) {
	sub := &Subscription{s: s, ID: id}
	seen := len(s.Unsolicited)
	if _, err := s.Send(t.Ctx, s.Message(id, mcp.MethodSubscriptionsListen, map[string]any{"notifications": filter})); err != nil {
		return sub, err
	}
	for _, in := range s.Unsolicited[seen:] {
		if sub.Owns(in) {
			sub.Ack = in
			return sub, nil
		}
	}
	in, err := s.Next(t.Ctx, func(in wire.Inbound) bool {
		return sub.Owns(in) || in.IsResponse() && in.ID() == id || in.Ended && in.To == id
	})
	sub.Ack = in
	return sub, err
}

// Owns reports whether a message of the server belongs to the subscription: by
// the stream it came on, else by its id.
func (sub *Subscription) Owns(in wire.Inbound) bool {
	if in.Members == nil || in.IsResponse() {
		return false
	}
	return in.To == sub.ID || in.To == "" && string(sub.Subscription(in)) == sub.ID
}

// Subscription returns the id that a notification, or the response that ends the
// subscription, carries.
func (sub *Subscription) Subscription(in wire.Inbound) json.RawMessage {
	params, _ := rawjson.Object(in.Members["params"])
	if in.IsResponse() {
		params, _ = rawjson.Object(in.Members["result"])
	}
	meta, _ := rawjson.Object(params["_meta"])
	return meta[mcp.MetaSubscriptionID]
}

// Honours reports whether the acknowledgment, when there is one, has these parts of
// the filter. Another check judges a missing acknowledgment.
func (sub *Subscription) Honours(parts ...string) bool {
	if sub.Ack.Method() != mcp.MethodSubscriptionsAcknowledged {
		return true
	}
	honoured, _ := rawjson.Object(wire.Param(sub.Ack, "notifications"))
	return !slices.ContainsFunc(parts, func(part string) bool {
		v := string(honoured[part])
		return v == "" || v == "false" || v == "null" || v == "[]"
	})
}

// Noted returns the notifications of a method that came for the subscription.
func (sub *Subscription) Noted(method string) []wire.Inbound {
	var out []wire.Inbound
	for _, in := range sub.s.Notifications(method) {
		if sub.Owns(in) {
			out = append(out, in)
		}
	}
	return out
}

// Evidence returns the request of the subscription, with messages.
func (sub *Subscription) Evidence(came ...wire.Inbound) []conformance.Frame {
	var out []conformance.Frame
	if sent := sub.s.Sent(sub.ID); sent != nil {
		out = append(out, *sent)
	}
	for _, in := range came {
		out = append(out, in.Frame())
	}
	return out
}

// Next waits for a notification of a method that has not come yet.
func (sub *Subscription) Next(t *engine.Trial, method string) (wire.Inbound, error) {
	had := len(sub.Noted(method))
	if had > 0 {
		return sub.Noted(method)[had-1], nil
	}
	return sub.s.Next(t.Ctx, func(in wire.Inbound) bool { return in.Method() == method && sub.Owns(in) })
}

// End closes the subscription the way of its transport.
func (sub *Subscription) End(t *engine.Trial) error {
	if w, ok := sub.s.Conn.(*wire.HTTPConn); ok {
		w.Abandon(sub.ID)
		return nil
	}
	_, err := sub.s.Send(t.Ctx, wire.Message("", mcp.MethodCancelled, map[string]any{"requestId": json.RawMessage(sub.ID)}))
	return err
}

// Described describes what arrived instead of an acknowledgment.
func (sub *Subscription) Described(err error) string {
	if err != nil {
		return err.Error()
	}
	if sub.Ack.Members == nil {
		return fmt.Sprint(sub.Ack.Err)
	}
	return rawjson.Clip(string(sub.Ack.Data), 160)
}
