package client

import (
	"context"
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/client/internal/ask"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// FormRequest asks the user to fill in a form.
type FormRequest struct {
	// From is the server that asks: show it.
	From Requester
	// Message describes the form; untrusted.
	Message string
	// Fields are what the form asks for, in the server's order.
	Fields []mcp.FormField
	// Params is the request, unchanged.
	Params *mcp.ElicitParams
}

// OnElicitForm registers the handler that shows the user a form from the
// server, in both eras (revision 2025-06-18 and later). Register it only if
// there is a user to ask. It runs like a handler of [OnSampling].
//
// Return [AcceptForm] for a completed form; missing fields get the form's
// defaults. Return [ErrRejected] if the user declined. The client answers
// "cancel" on any other error, on a panic and on nil. It also answers "cancel"
// if the content does not match the form, and logs the reason; [CheckFormField] tells the
// user before.
func OnElicitForm(f func(ctx context.Context, r FormRequest) (*mcp.ElicitResult, error)) Option {
	return optionFunc(func(c *config) {
		c.offer.Form = nil
		if f != nil {
			c.offer.Form = func(ctx context.Context, from ask.Requester, r ask.FormRequest) (*mcp.ElicitResult, error) {
				return f(ctx, FormRequest{From: Requester(from), Message: r.Params.Message, Fields: r.Fields, Params: r.Params})
			}
		}
	})
}

// CheckFormField returns an error if a value, as JSON, does not fit a field of a form: its
// type, limits, choices or format. The error does not repeat the value. Use it to have the
// user correct a value before the form is accepted.
func CheckFormField(f mcp.FormField, value json.RawMessage) error { return ask.CheckField(f, value) }

// AcceptForm returns the answer for a completed form. content is a struct or
// map with the fields; nil means the defaults.
func AcceptForm(content any) (*mcp.ElicitResult, error) {
	raw, err := encodeObject("form", content)
	if err != nil {
		return nil, err
	}
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: raw}, nil
}

// URLRequest asks the user to do something on a web page.
type URLRequest struct {
	// From is the server that asks: show it.
	From Requester
	// Message describes the visit; untrusted.
	Message string
	// URL is the page, http or https. Show it in full and open it only when the user
	// agrees, in a browser that neither the program nor its model can read. The
	// client never fetches it.
	URL string
	// Host is the part of URL to highlight. Lookalike is true when it has letters
	// beyond ASCII, plain or as punycode: warn the user.
	Host      string
	Lookalike bool
	// Done is closed when the server reports that the user has finished there. Not
	// every server does; Done is nil in revisions without such a report.
	Done <-chan struct{}
	// Params is the request, unchanged.
	Params *mcp.ElicitParams
}

// OnElicitURL registers the handler that sends the user to a page that the
// server names, in both eras (revision 2025-11-25 and later).
//
// ElicitAccept means that the user agreed to visit the page, not that the user
// has finished there. If the server refused a call until then, the client
// repeats it after the handler accepts. So wait for Done first, within reason.
// Errors are handled as in [OnElicitForm].
func OnElicitURL(f func(ctx context.Context, r URLRequest) (mcp.ElicitAction, error)) Option {
	return optionFunc(func(c *config) {
		c.offer.URL = nil
		if f != nil {
			c.offer.URL = func(ctx context.Context, from ask.Requester, r ask.URLRequest) (mcp.ElicitAction, error) {
				return f(ctx, URLRequest{
					From: Requester(from), Message: r.Params.Message, URL: r.Params.URL,
					Host: r.Host, Lookalike: r.Lookalike, Done: r.Done, Params: r.Params,
				})
			}
		}
	})
}
