package clientsuite_test

import (
	"context"
	"encoding/json"
	"strings"
	"time"
)

// heard has the notifications of one subscription.
type heard struct {
	id    string // of the request that opened it, in the stateless era
	notes []json.RawMessage
}

// subscribe holds a subscription for the time of the step, and returns its
// notifications.
func (c *toyClient) subscribe(ctx context.Context, s step) (any, error) {
	h := &heard{notes: []json.RawMessage{}}
	var err error
	if s.Call == "subscriptions/listen" {
		err = c.listen(ctx, s, h)
	} else {
		err = c.watch(ctx, s, h)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscription = nil
	return map[string]any{"notifications": h.notes}, err
}

// listen is a subscription of the stateless era.
func (c *toyClient) listen(ctx context.Context, s step, h *heard) error {
	params := object(s.Params)
	if c.is("asks-for-all") {
		params["notifications"] = json.RawMessage(`{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["mem://one"]}`)
	}
	inner, stop := context.WithCancel(ctx)
	defer stop()
	if c.is("never-unlistens") {
		inner = c.life
	}
	end := time.NewTimer(time.Duration(s.ForMs) * time.Millisecond)
	defer end.Stop()
	for again := 0; ; again++ {
		id := c.newID()
		c.mu.Lock()
		h.id, c.subscription = string(number(id)), h
		c.mu.Unlock()
		ended := make(chan error, 1)
		go func() {
			_, err := c.once(inner, id, s.Call, params, c.capabilities(), step{})
			ended <- err
		}()
		select {
		case <-end.C:
			stop()
			if !c.is("never-unlistens") {
				<-ended //nolint:errcheck // it was to end
			}
			return nil
		case err := <-ended:
			if !c.is("relistens") || again > 20 {
				return err
			}
		}
	}
}

// watch is a subscription of the session era.
func (c *toyClient) watch(ctx context.Context, s step, h *heard) error {
	c.mu.Lock()
	c.subscription = h
	c.mu.Unlock()
	params := members{"uri": str(s.URI)}
	if c.is("trims-uris") {
		params["uri"] = str(strings.TrimPrefix(s.URI, "mem://"))
	}
	if _, err := c.call(ctx, "resources/subscribe", params, s); err != nil {
		return err
	}
	<-time.After(time.Duration(s.ForMs) * time.Millisecond)
	if c.is("no-unsubscribe") {
		return nil
	}
	_, err := c.call(ctx, "resources/unsubscribe", params, s)
	return err
}

// changed takes a notification for the subscription it belongs to.
func (c *toyClient) changed(m members) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.subscription
	if h == nil || text(m["method"]) != "notifications/resources/updated" || c.is("deaf") {
		return
	}
	id := object(object(m["params"])["_meta"])["io.modelcontextprotocol/subscriptionId"]
	if h.id == "" || string(id) == h.id || c.is("any-subscription") {
		h.notes = append(h.notes, members{"method": m["method"], "params": m["params"]}.raw())
	}
}
