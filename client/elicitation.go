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
	// Message says what the form is for; untrusted.
	Message string
	// Fields are what the form asks for, in the server's order.
	Fields []FormField
	// Params is the request, unchanged.
	Params *mcp.ElicitParams
}

// FormField is one field of a form.
type FormField struct {
	Name, Title, Description string
	// Type is "string", "number", "integer", "boolean", or "array" for any
	// number of choices.
	Type string
	// Format is "email", "uri", "date", "date-time" or empty, for strings.
	Format   string
	Required bool
	// Default is the initial value, as JSON; nil for none.
	Default json.RawMessage
	// Choices are the values to choose from; empty when any value that fits will
	// do.
	Choices []FormChoice
	// Schema is the field's JSON Schema, with limits on lengths and numbers.
	Schema json.RawMessage
}

// FormChoice is a value to choose, and what to call it.
type FormChoice struct{ Value, Title string }

// OnElicitForm shows forms of servers to the user, in both eras (2025-06-18 and
// later). [AcceptForm] makes the answer of a user who filled the form in; missing
// fields get the form's defaults. An answer that does not fit the form is not
// sent: the server gets "cancel", and the log says why. [ErrRejected] declines;
// any other error, a panic and nil answer "cancel".
//
// The handler runs like one of [OnSampling]. Register it only where there is a
// user to ask.
func OnElicitForm(f func(ctx context.Context, r FormRequest) (*mcp.ElicitResult, error)) Option {
	return optionFunc(func(c *config) {
		c.offer.Form = nil
		if f != nil {
			c.offer.Form = func(ctx context.Context, from ask.Requester, r ask.FormRequest) (*mcp.ElicitResult, error) {
				return f(ctx, FormRequest{From: Requester(from), Message: r.Params.Message, Fields: formFields(r.Fields), Params: r.Params})
			}
		}
	})
}

func formFields(fields []ask.FormField) []FormField {
	var out []FormField
	for _, f := range fields {
		var choices []FormChoice
		for _, choice := range f.Choices {
			choices = append(choices, FormChoice(choice))
		}
		out = append(out, FormField{
			Name: f.Name, Title: f.Title, Description: f.Description, Type: f.Type, Format: f.Format, Required: f.Required,
			Default: f.Default, Choices: choices, Schema: f.Schema,
		})
	}
	return out
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

// URLRequest asks the user to do something on a web page.
type URLRequest struct {
	// From is the server that asks: show it.
	From Requester
	// Message says what the visit is for; untrusted.
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

// OnElicitURL sends the user to a page that a server names, in both eras
// (2025-11-25 and later). Accept says that the user agreed to go there, not that
// the user has finished. The client makes a call that the server refused until
// something is done there once more after the handler accepts: wait for Done
// first, within reason. Errors are handled as for [OnElicitForm].
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
