package ask

import (
	"context"
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/mainstay-mcp/mainstay/client/internal/event"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// hostOf returns the host of a URL for the user. It rejects a user name before the host, which
// would deceive.
func hostOf(text string) (host string, err error) {
	u, err := url.Parse(text)
	switch {
	case strings.ContainsFunc(text, isInvisible):
		return "", errors.New("it must not contain invisible characters")
	case err != nil || u.Hostname() == "":
		return "", errors.New("it is not an absolute URL")
	case u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())):
		return "", errors.New("it must be https, or http to this machine")
	case u.User != nil:
		return "", errors.New("it must not contain a user name")
	}
	return strings.ToLower(u.Hostname()), nil
}

// isInvisible reports whether a character is invisible or changes the order of others: the user
// would read another URL.
func isInvisible(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }

func isLoopback(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	return strings.EqualFold(host, "localhost")
}

// isLookalike reports whether a host may look like another one.
func isLookalike(host string) bool {
	for label := range strings.SplitSeq(host, ".") {
		if strings.HasPrefix(label, "xn--") {
			return true
		}
	}
	return strings.ContainsFunc(host, func(r rune) bool { return r > '~' })
}

// visits are the open URL elicitations, until the server reports that they are complete.
type visits struct {
	mu   sync.Mutex
	done map[string]chan struct{}
	ids  []string // keys of done, oldest first
}

// maxVisits limits the open elicitations of a server. The oldest are dropped first.
const maxVisits = 256

// maxVisitID is the longest id that is kept, in bytes.
const maxVisitID = 1 << 10

// begin returns a channel that is closed when the elicitation is complete, nil if its id cannot
// be kept.
func (v *visits) begin(id string) <-chan struct{} {
	if id == "" || len(id) > maxVisitID {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if done, ok := v.done[id]; ok {
		return done
	}
	if v.done == nil {
		v.done = map[string]chan struct{}{}
	}
	if len(v.ids) == maxVisits {
		delete(v.done, v.ids[0])
		v.ids = v.ids[1:]
	}
	v.done[id] = make(chan struct{})
	v.ids = append(v.ids, id)
	return v.done[id]
}

// end removes an elicitation. known is false if it was not open.
func (v *visits) end(id string) (done chan struct{}, known bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if done, known = v.done[id]; known {
		delete(v.done, id)
		v.ids = slices.DeleteFunc(v.ids, func(other string) bool { return other == id })
	}
	return done, known
}

// ElicitationComplete closes the channel of an elicitation whose user has finished. Unknown ids
// are ignored.
func (d *Dispatcher) ElicitationComplete(v mcp.Version, n jsonrpc.Notification) {
	var params mcp.ElicitationCompleteParams
	if !mcp.MethodIn(n.Method, v) || mcp.Unmarshal(slices.Clone(n.Params), &params) != nil {
		return
	}
	if done, known := d.visits.end(params.ElicitationID); known {
		close(done)
		d.Emit(event.ElicitationComplete{ID: params.ElicitationID})
	}
}

// Visit asks the user to visit the URLs that a server requires before it accepts a call, in
// order. It reports whether the user agreed to each, so that the call may be sent again. Only
// revision 2025-11-25 defines the code of such an error.
func (d *Dispatcher) Visit(ctx context.Context, o Occasion, required *jsonrpc.Error) bool {
	if o.Agreed.Version != mcp.Version2025_11_25 || d.Offer.URL == nil {
		return false
	}
	var data mcp.URLElicitationRequiredData
	if mcp.Unmarshal(slices.Clone(required.Data), &data) != nil || len(data.Elicitations) == 0 || len(data.Elicitations) > maxRequests {
		return false
	}
	if slices.ContainsFunc(data.Elicitations, func(p mcp.ElicitParams) bool { return p.Mode != mcp.ElicitURL }) {
		return false
	}
	for _, p := range data.Elicitations {
		if !d.visit(ctx, o, &p) {
			return false
		}
	}
	return true
}

func (d *Dispatcher) visit(ctx context.Context, o Occasion, p *mcp.ElicitParams) bool {
	params, err := mcp.Marshal(p)
	if err != nil {
		return false
	}
	raw, no := d.Answer(ctx, o, mcp.MethodElicitationCreate, params)
	if no != nil {
		d.Log.Warn("[MCP] the call needs an elicitation first, and the elicitation failed", "server", d.Server, "error", no)
		return false
	}
	var res mcp.ElicitResult
	return mcp.Unmarshal(raw, &res) == nil && res.Action == mcp.ElicitAccept
}
