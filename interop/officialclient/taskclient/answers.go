package main

import (
	"context"
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/conformance/clientdriver"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// answers register a handler for each answer there is.
func answers(a clientdriver.Answers) []client.Option {
	var out []client.Option
	if a.Elicit != nil {
		out = append(out, client.OnElicitForm(func(context.Context, client.FormRequest) (*mcp.ElicitResult, error) {
			var r mcp.ElicitResult
			if err := json.Unmarshal(a.Elicit, &r); err != nil {
				return nil, err
			}
			return &r, nil
		}))
	}
	if a.ElicitURL != "" {
		out = append(out, client.OnElicitURL(func(context.Context, client.URLRequest) (mcp.ElicitAction, error) {
			return mcp.ElicitAction(a.ElicitURL), nil
		}))
	}
	if a.Sample != nil {
		out = append(out, client.OnSampling(func(context.Context, client.SamplingRequest) (*mcp.CreateMessageResult, error) {
			var r mcp.CreateMessageResult
			if err := json.Unmarshal(a.Sample, &r); err != nil {
				return nil, err
			}
			return &r, nil
		}))
	}
	if a.Roots != nil {
		roots := make([]mcp.Root, len(a.Roots))
		for i, uri := range a.Roots {
			roots[i] = mcp.Root{URI: uri}
		}
		out = append(out, client.WithRoots(roots...))
	}
	return out
}
