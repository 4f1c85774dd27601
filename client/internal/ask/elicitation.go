package ask

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mainstay-mcp/mainstay/client/internal/catalog"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// FormRequest is a form that a server wants the user to fill in.
type FormRequest struct {
	// Fields are the fields of the form, in the server's order.
	Fields []mcp.FormField
	// Params is the request, unchanged.
	Params *mcp.ElicitParams
}

// URLRequest is a page that a server wants the user to visit.
type URLRequest struct {
	// Host is the part of the URL to highlight. Lookalike is set if it has characters outside
	// ASCII, plain or as punycode.
	Host      string
	Lookalike bool
	// Done is closed when the server reports that the user has finished; nil if it cannot report
	// that.
	Done <-chan struct{}
	// Params is the request, unchanged.
	Params *mcp.ElicitParams
}

func (d *Dispatcher) checkElicitation(from Requester, caps *mcp.ElicitationCapability, raw json.RawMessage) (question, *Refusal) {
	var params mcp.ElicitParams
	if err := mcp.Unmarshal([]byte(raw), &params); err != nil {
		return nil, refuse(jsonrpc.CodeInvalidParams, "Invalid params: %s", jsonrpc.Printable(err.Error(), 200))
	}
	switch {
	case (params.Mode == "" || params.Mode == mcp.ElicitForm) && (caps.Form != nil || caps.URL == nil): // {} means forms
		return d.checkForm(from, &params)
	case params.Mode == mcp.ElicitURL && caps.URL != nil:
		return d.checkURL(from, &params)
	}
	return nil, refuse(jsonrpc.CodeInvalidParams, "The client did not declare this mode of elicitation")
}

func (d *Dispatcher) checkForm(from Requester, params *mcp.ElicitParams) (question, *Refusal) {
	form, err := readForm(params.RequestedSchema)
	if err != nil {
		return nil, refuse(jsonrpc.CodeInvalidParams, "Invalid params: requestedSchema: %s", jsonrpc.Printable(err.Error(), 200))
	}
	form.check = catalog.Checker(params.RequestedSchema)
	return func(ctx context.Context) (json.RawMessage, *Refusal) {
		res, err := run(d, "OnElicitForm", func() (*mcp.ElicitResult, error) {
			if d.Offer.Form == nil {
				return nil, errNoHandler
			}
			return d.Offer.Form(ctx, from, FormRequest{Fields: form.fields, Params: params})
		})
		if err == nil && res != nil && res.Action == mcp.ElicitAccept {
			if res.Content, err = form.complete(res.Content); err == nil {
				return d.encodeAnswer(ctx, *res, nil)
			}
		}
		if res == nil {
			res = &mcp.ElicitResult{}
		}
		res.Content = nil // only with accept
		return d.encodeAnswer(ctx, *res, err)
	}, nil
}

func (d *Dispatcher) checkURL(from Requester, params *mcp.ElicitParams) (question, *Refusal) {
	host, err := hostOf(params.URL)
	if err != nil {
		return nil, refuse(jsonrpc.CodeInvalidParams, "Invalid params: url: %s", err)
	}
	return func(ctx context.Context) (json.RawMessage, *Refusal) {
		r := URLRequest{Host: host, Lookalike: isLookalike(host), Done: d.visits.begin(params.ElicitationID), Params: params}
		action, err := run(d, "OnElicitURL", func() (mcp.ElicitAction, error) {
			if d.Offer.URL == nil {
				return "", errNoHandler
			}
			return d.Offer.URL(ctx, from, r)
		})
		if action != mcp.ElicitAccept || err != nil {
			d.visits.end(params.ElicitationID) // the user did not open the page
		}
		return d.encodeAnswer(ctx, mcp.ElicitResult{Action: action}, err)
	}, nil
}

var errNoHandler = errors.New("there is no handler for this mode of elicitation")

// encodeAnswer encodes the user's answer. If the handler failed, the server gets "cancel" without
// the reason.
func (d *Dispatcher) encodeAnswer(ctx context.Context, res mcp.ElicitResult, err error) (json.RawMessage, *Refusal) {
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
		d.Log.Warn("[MCP] an elicitation of the server was answered with cancel", "server", d.Server, "error", err)
	}
	raw, err := mcp.Marshal(&res)
	if err != nil {
		return nil, handlerFailed(err)
	}
	return raw, nil
}

// cancelElicitation is the answer if the user did not choose.
var cancelElicitation = json.RawMessage(`{"action":"cancel"}`)
