package client

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/url"
	"strings"
	"unicode"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// FormRequest is a form that a server wants filled in.
type FormRequest struct {
	// From is the server that asks: show it.
	From Asker
	// Message says what it is about; untrusted.
	Message string
	// Fields is what is asked for, in the server's order.
	Fields []FormField
	// Params is the request as it came.
	Params *mcp.ElicitParams
}

// OnElicitForm shows servers' forms to the user, in every era (2025-06-18 and
// later). [AcceptForm] makes the answer of a user who filled it in; what is
// missing in it gets the form's defaults, so accepting nothing accepts those.
// An answer that does not fit the form is not sent: the server gets "cancel",
// and the log says why. [ErrRejected] declines; any other error, a panic and
// nil answer "cancel".
//
// The handler runs as one of [OnSampling] does. Register it only where there is
// somebody to ask.
func OnElicitForm(f func(ctx context.Context, r FormRequest) (*mcp.ElicitResult, error)) Option {
	return optionFunc(func(c *config) { c.onForm = f })
}

// AcceptForm is the answer of a user who filled a form in: content is a struct
// or map of the fields, nil for the defaults.
func AcceptForm(content any) (*mcp.ElicitResult, error) {
	raw, err := encodeObject("form", content)
	if err != nil {
		return nil, err
	}
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: raw}, nil
}

// URLRequest is a place where a server wants the user to do something.
type URLRequest struct {
	// From is the server that asks: show it.
	From Asker
	// Message says what it is about; untrusted.
	Message string
	// URL is where to go, http or https. Show it in full and open it only when
	// the user says so, in a browser that neither the program nor its model can
	// read. The client never fetches it.
	URL string
	// Host is the part of URL to highlight. Lookalike is true when it holds
	// letters beyond ASCII, plain or as punycode: warn of it.
	Host      string
	Lookalike bool
	// Done is closed when the server says that the user has finished there. Not
	// every server says so; it is nil where the revision has no way to say it
	//.
	Done <-chan struct{}
	// Params is the request as it came.
	Params *mcp.ElicitParams
}

// OnElicitURL sends the user to a place that a server names, in every era
// (2025-11-25 and later). Accept says that the user agreed to go there, not that
// the errand is done. A call that the server refused until something was done
// there is made once more when the handler has accepted, so waiting
// for Done first, within reason, is worth it. Errors are treated as for
// [OnElicitForm].
func OnElicitURL(f func(ctx context.Context, r URLRequest) (mcp.ElicitAction, error)) Option {
	return optionFunc(func(c *config) { c.onURL = f })
}

func (c *Client) prepareElicitation(from Asker, caps *mcp.ElicitationCapability, raw json.RawMessage) (question, *refusal) {
	var params mcp.ElicitParams
	if err := mcp.Unmarshal([]byte(raw), &params); err != nil {
		return nil, refuse(jsonrpc.CodeInvalidParams, "Invalid params: %s", jsonrpc.Printable(err.Error(), 200))
	}
	switch {
	case (params.Mode == "" || params.Mode == mcp.ElicitForm) && (caps.Form != nil || caps.URL == nil): // {} means forms
		return c.prepareForm(from, &params)
	case params.Mode == mcp.ElicitURL && caps.URL != nil:
		return c.prepareURL(from, &params)
	}
	return nil, refuse(jsonrpc.CodeInvalidParams, "The client did not declare this mode of elicitation")
}

func (c *Client) prepareForm(from Asker, params *mcp.ElicitParams) (question, *refusal) {
	form, err := readForm(params.RequestedSchema)
	if err != nil {
		return nil, refuse(jsonrpc.CodeInvalidParams, "Invalid params: requestedSchema: %s", jsonrpc.Printable(err.Error(), 200))
	}
	return func(ctx context.Context) (json.RawMessage, *refusal) {
		res, err := handled(c, "OnElicitForm", func() (*mcp.ElicitResult, error) {
			if c.cfg.onForm == nil {
				return nil, errNobody
			}
			return c.cfg.onForm(ctx, FormRequest{From: from, Message: params.Message, Fields: form.fields, Params: params})
		})
		if err == nil && res != nil && res.Action == mcp.ElicitAccept {
			if res.Content, err = form.complete(res.Content); err == nil {
				return c.elicited(ctx, *res, nil)
			}
		}
		if res == nil {
			res = &mcp.ElicitResult{}
		}
		res.Content = nil // only with accept (ELIC-02)
		return c.elicited(ctx, *res, err)
	}, nil
}

func (c *Client) prepareURL(from Asker, params *mcp.ElicitParams) (question, *refusal) {
	host, err := checkErrand(params.URL)
	if err != nil {
		return nil, refuse(jsonrpc.CodeInvalidParams, "Invalid params: url: %s", err)
	}
	return func(ctx context.Context) (json.RawMessage, *refusal) {
		r := URLRequest{
			From: from, Message: params.Message, URL: params.URL, Host: host, Lookalike: lookalike(host),
			Done: c.inputs.get().errands.begin(params.ElicitationID), Params: params,
		}
		action, err := handled(c, "OnElicitURL", func() (mcp.ElicitAction, error) {
			if c.cfg.onURL == nil {
				return "", errNobody
			}
			return c.cfg.onURL(ctx, r)
		})
		if action != mcp.ElicitAccept || err != nil {
			c.inputs.get().errands.end(params.ElicitationID) // nobody went there
		}
		return c.elicited(ctx, mcp.ElicitResult{Action: action}, err)
	}, nil
}

var errNobody = errors.New("there is no handler for this mode of elicitation")

// elicited encodes the user's answer. What went wrong on this side is no answer
// of the user's, and no business of the server's: it is told that the user did
// not choose (ELIC-09).
func (c *Client) elicited(ctx context.Context, res mcp.ElicitResult, err error) (json.RawMessage, *refusal) {
	switch {
	case errors.Is(err, ErrRejected):
		res.Action, err = mcp.ElicitDecline, nil
	case err != nil:
		res.Action = mcp.ElicitCancel
	}
	switch res.Action {
	case mcp.ElicitAccept, mcp.ElicitDecline, mcp.ElicitCancel:
	case "":
		res.Action = mcp.ElicitCancel
	default:
		err = errors.New("the handler returned an unknown action, " + jsonrpc.Printable(string(res.Action), 40))
		res.Action, res.Content = mcp.ElicitCancel, nil
	}
	if err != nil && ctx.Err() == nil {
		c.log.Warn("[MCP] an elicitation of the server was answered with cancel", "server", c.server, "error", err)
	}
	raw, err := mcp.Marshal(&res)
	if err != nil {
		return nil, handlerFailed(err)
	}
	return raw, nil
}

// cancelElicitation is the answer of a user who did not choose.
var cancelElicitation = json.RawMessage(`{"action":"cancel"}`)

// checkErrand returns the host of a URL that a user may be shown (SEC-03). A
// name before the host is there to deceive.
func checkErrand(text string) (host string, err error) {
	u, err := url.Parse(text)
	switch {
	case strings.ContainsFunc(text, invisible):
		return "", errors.New("it must not hold what cannot be seen")
	case err != nil || u.Hostname() == "":
		return "", errors.New("it is not an absolute URL")
	case u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())):
		return "", errors.New("it must be https, or http to this machine")
	case u.User != nil:
		return "", errors.New("it must not hold a user name")
	}
	return strings.ToLower(u.Hostname()), nil
}

// invisible reports what shows itself in no place of its own, or turns around
// what stands beside it: the user would read another URL.
func invisible(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }

func isLoopback(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	return strings.EqualFold(host, "localhost")
}

// lookalike reports a host that may look like another one.
func lookalike(host string) bool {
	for label := range strings.SplitSeq(host, ".") {
		if strings.HasPrefix(label, "xn--") {
			return true
		}
	}
	return strings.ContainsFunc(host, func(r rune) bool { return r > '~' })
}
