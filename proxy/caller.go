package proxy

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Caller is the host whose request a client works on. Authorizers use it to log a person in.
type Caller struct{ request *request }

// CallerOf returns the host whose request a context belongs to, nil unless a person may wait for
// the answer: for tools/call, prompts/get and resources/read, until the host ends. Contexts of
// the clients of a [Target] have it, such as those of their authorizers.
func CallerOf(ctx context.Context) *Caller {
	r, _ := ctx.Value(requestKey{}).(*request)
	if r == nil || !r.attended() {
		return nil
	}
	select {
	case <-r.host.ending:
		return nil
	default:
		return &Caller{r}
	}
}

// attended reports whether a person may wait for the answer to a request.
func (r *request) attended() bool {
	switch r.Method {
	case mcp.MethodToolsCall, mcp.MethodPromptsGet, mcp.MethodResourcesRead:
		return true
	}
	return false
}

// OpensURLs reports whether the host declares elicitation in URL mode.
func (c *Caller) OpensURLs() bool { return c.request.opensURLs() }

func (r *request) opensURLs() bool {
	if r.version.Era() == mcp.EraSession {
		r.host.mu.Lock()
		up := r.host.session
		r.host.mu.Unlock()
		return up != nil && up.side().declared.Has(elicitsURLs)
	}
	if !bytes.Contains(r.capabilities, []byte(`"url"`)) { // most hosts
		return false
	}
	var declared mcp.ClientCapabilities
	return mcp.Unmarshal(bytes.Clone(r.capabilities), &declared) == nil && declared.Has(elicitsURLs)
}

const elicitsURLs = "elicitation.url"

// ErrDeclined means that a person does not open a page.
var ErrDeclined = errors.New("the person declined to open the page")

// OpenURL asks the person at the host to open a page, and returns when ctx ends, with which what
// the page is for has ended. If the person declines or the host opens
// no URLs, the error is [ErrDeclined]. If the host
// cancels its request before that, it is [context.Canceled].
//
// The answer to a stateless host is input_required. The call that waits in the client is
// canceled for it, and the host makes it again.
func (c *Caller) OpenURL(ctx context.Context, message, url string) error {
	r := c.request
	if !r.opensURLs() {
		return ErrDeclined
	}
	params := mcp.ElicitParams{Mode: mcp.ElicitURL, Message: message, URL: url}
	if r.version.Era() == mcp.EraStateless {
		return r.offer(ctx, params)
	}
	if r.version == mcp.Version2025_11_25 {
		params.ElicitationID = rand.Text()
	}
	raw, err := mcp.Marshal(&params)
	if err != nil {
		return err
	}
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	answer, err := r.host.ask(own, r.line, mcp.MethodElicitationCreate, raw)
	if err == nil {
		if err = agreed(answer); err == nil {
			<-own.Done()
		}
	}
	switch {
	case ctx.Err() != nil: // it is done
		if raw, bad := mcp.Marshal(&mcp.ElicitationCompleteParams{ElicitationID: params.ElicitationID}); err == nil && bad == nil && params.ElicitationID != "" {
			r.host.tell(r.line, jsonrpc.Notification{Method: mcp.MethodElicitationComplete, Params: raw})
		}
		return nil
	case r.ctx.Err() != nil:
		return fmt.Errorf("the host canceled the request: %w", context.Canceled)
	}
	return err
}

// agreed returns nil if the answer to an elicitation is consent.
func agreed(answer json.RawMessage) error {
	var result mcp.ElicitResult
	if err := mcp.Unmarshal(bytes.Clone(answer), &result); err != nil {
		return fmt.Errorf("the host's answer to the elicitation: %w", err)
	}
	if result.Action != mcp.ElicitAccept {
		return ErrDeclined
	}
	return nil
}

// A link is a page that a stateless host is to open. It is the cause with which the call that
// waits for it is canceled. The host then makes its call again, with the answer.
type link struct {
	state  string
	ask    question
	answer chan json.RawMessage
}

func (l *link) Error() string { return "a person has to open a page" }

// Is reports that a link ends a call as a deadline does: a login goes on.
func (l *link) Is(target error) bool { return target == context.DeadlineExceeded }

// links are the pages that stateless hosts are to open, by the requestState of each.
type links struct {
	mu   sync.Mutex
	tag  string // begins each state
	open map[string]*link
}

func (l *links) add(params json.RawMessage) *link {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.tag, l.open = rand.Text()+"-", map[string]*link{}
	}
	n := &link{
		state: l.tag + rand.Text(), answer: make(chan json.RawMessage, 1),
		ask: question{key: "login", method: mcp.MethodElicitationCreate, params: params},
	}
	l.open[n.state] = n
	return n
}

func (l *links) remove(n *link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, n.state)
}

// find returns the link of a state, nil if it is not open any more. own reports whether the
// state is of a link.
func (l *links) find(state string) (n *link, own bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[state], l.tag != "" && strings.HasPrefix(state, l.tag)
}

// offer answers a stateless host with a link, and waits for what the person decides.
func (r *request) offer(ctx context.Context, params mcp.ElicitParams) error {
	raw, err := mcp.Marshal(&params)
	if err != nil {
		return err
	}
	if r.interrupt == nil || r.ctx.Err() != nil {
		return fmt.Errorf("the request has ended: %w", context.Canceled)
	}
	n := r.host.links.add(raw)
	defer r.host.links.remove(n)
	r.interrupt(n)
	select {
	case answer := <-n.answer:
		if err := agreed(answer); err != nil {
			return err
		}
		<-ctx.Done()
	case <-ctx.Done():
	}
	return nil
}

// linked serves a request of a stateless host, which may be answered with a link.
func (h *host) linked(ctx context.Context, r *request) (json.RawMessage, *jsonrpc.Error) {
	if !r.attended() || !r.opensURLs() {
		return h.serveStateless(ctx, r)
	}
	if n := h.links.resume(r); n != nil {
		return n.ask.inputRequired(n.state), nil
	}
	ctx, r.interrupt = context.WithCancelCause(ctx)
	defer r.interrupt(nil)
	result, fault := h.serveStateless(ctx, r)
	var n *link
	if errors.As(context.Cause(ctx), &n) && r.unsent() {
		return n.ask.inputRequired(n.state), nil
	}
	return result, fault
}

// resume takes the answer for a link out of a request. It returns the link if the answer is
// missing.
func (l *links) resume(r *request) *link {
	if !bytes.Contains(r.Params, []byte(`"requestState"`)) {
		return nil
	}
	n, err := splitRound(r.Params)
	if err != nil {
		return nil //nolint:nilerr // the state of a server may be any text
	}
	of, own := l.find(n.state)
	if !own {
		return nil
	}
	if of != nil {
		var answer json.RawMessage
		_ = jsonrpc.Members(n.responses, func(name, value []byte) bool {
			if string(name) == of.ask.key {
				answer = value
			}
			return answer == nil
		})
		if answer == nil {
			return of
		}
		select {
		case of.answer <- answer:
		default: // it was answered before
		}
	}
	r.Params = n.call
	return nil
}

// unsent reports whether a request failed without reaching the server, or was refused there.
func (r *request) unsent() bool {
	return r.failed != nil && (r.failed.Delivery == mcperrors.NotSent.String() || r.failed.Delivery == mcperrors.Rejected.String())
}
