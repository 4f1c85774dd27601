package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func newServer() *mcp.Server {
	opts := &mcp.ServerOptions{
		Instructions:       "Timetable, fares and bookings of a small ferry line.",
		PageSize:           4,
		CompletionHandler:  complete,
		SubscribeHandler:   subscribe,
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	}
	if on("logging-undeclared") {
		// The lists of prompts never change, so say so.
		opts.Capabilities = &mcp.ServerCapabilities{Prompts: &mcp.PromptCapabilities{}}
	}
	if on("session-id-timestamp") {
		opts.GetSessionID = func() string { return "ferry " + time.Now().Format(time.RFC1123Z) + time.Now().Format(" .000000") }
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "ferry-line", Title: "Ferry line", Version: "1.4.0"}, opts)
	s.AddReceivingMiddleware(checkLevel, oldNotFound)
	addTools(s)
	addResources(s)
	addPrompts(s)
	return s
}

var levels = []mcp.LoggingLevel{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// checkLevel refuses log levels that do not exist.
func checkLevel(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if p, ok := req.GetParams().(*mcp.SetLoggingLevelParams); ok && method == "logging/setLevel" && !slices.Contains(levels, p.Level) {
			return nil, invalid("unknown log level %q", p.Level)
		}
		return next(ctx, method, req)
	}
}

// oldNotFound gives missing resources the code they had before 2026-07-28.
func oldNotFound(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		var e *jsonrpc.Error
		if err == nil || !errors.As(err, &e) || e.Message != "Resource not found" {
			return res, err
		}
		version := ""
		switch r := req.(type) {
		case *mcp.ReadResourceRequest:
			version = r.ProtocolVersion()
		case *mcp.SubscribeRequest:
			version = r.ProtocolVersion()
		}
		if version < "2026-07-28" {
			return nil, &jsonrpc.Error{Code: -32002, Message: e.Message, Data: e.Data}
		}
		return res, err
	}
}

func invalid(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

func subscribe(_ context.Context, req *mcp.SubscribeRequest) error {
	uri := req.Params.URI
	if uri == "ferry://timetable" || uri == "ferry://fares" || uri == "ferry://notices" {
		return nil
	}
	if id, ok := strings.CutPrefix(uri, "ferry://sailings/"); ok {
		if _, ok := lookup(id); ok {
			return nil
		}
	}
	if p, ok := strings.CutPrefix(uri, "ferry://ports/"); ok && slices.Contains(ports, p) {
		return nil
	}
	return mcp.ResourceNotFoundError(uri)
}

func sailingURI(id string) string { return "ferry://sailings/" + id }

func addResources(s *mcp.Server) {
	text := func(uri, mime, body string) *mcp.ReadResourceResult {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: mime, Text: body}}}
	}
	s.AddResource(&mcp.Resource{
		URI: "ferry://timetable", Name: "timetable", Title: "Timetable", MIMEType: "application/json",
		Description: "Routes and their ports",
		Annotations: &mcp.Annotations{Audience: []mcp.Role{"user", "assistant"}, Priority: 0.8, LastModified: "2026-05-02T08:00:00Z"},
	}, func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return text(r.Params.URI, "application/json", asJSON(routes)), nil
	})
	s.AddResource(&mcp.Resource{URI: "ferry://fares", Name: "fares", MIMEType: "text/plain"},
		func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return text(r.Params.URI, "text/plain", "adult 12 EUR, bicycle 4 EUR, car 31 EUR, lorry 88 EUR\n"), nil
		})
	s.AddResource(&mcp.Resource{URI: "ferry://notices", Name: "notices", MIMEType: "text/plain", Description: "Delays of today"},
		func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return text(r.Params.URI, "text/plain", notices()), nil
		})
	s.AddResource(&mcp.Resource{URI: "ferry://flag.png", Name: "flag", MIMEType: "image/png"},
		func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: "image/png", Blob: picture(24)}}}, nil
		})
	for _, p := range ports {
		s.AddResource(&mcp.Resource{URI: "ferry://ports/" + p, Name: "port " + p, MIMEType: "text/plain"}, readPort)
	}
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: "ferry://sailings/{id}", Name: "sailing", MIMEType: "application/json",
		Description: "One departure with its free seats and its delay",
	}, readSailing)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "ferry://ports/{port}", Name: "port", MIMEType: "text/plain"}, readPort)
}

func notices() string {
	var b strings.Builder
	b.WriteString("Delays:\n")
	for _, id := range ids() {
		if s, _ := lookup(id); s.Delay > 0 {
			fmt.Fprintf(&b, "%s: %d minutes\n", id, s.Delay)
		}
	}
	return b.String()
}

func readPort(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	p := strings.TrimPrefix(r.Params.URI, "ferry://ports/")
	if !slices.Contains(ports, p) {
		return nil, mcp.ResourceNotFoundError(r.Params.URI)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
		URI: r.Params.URI, MIMEType: "text/plain", Text: "Port of " + p + ": quay 2, waiting room, ticket machine.\n",
	}}}, nil
}

func readSailing(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	s, ok := lookup(strings.TrimPrefix(r.Params.URI, "ferry://sailings/"))
	if !ok {
		if on("lost-sailing-empty") {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{}}, nil
		}
		return nil, mcp.ResourceNotFoundError(r.Params.URI)
	}
	uri := r.Params.URI
	if on("sailing-uri-template") {
		uri = "ferry://sailings/{id}"
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "application/json", Text: asJSON(s)}}}, nil
}

func addPrompts(s *mcp.Server) {
	s.AddPrompt(&mcp.Prompt{
		Name: "travel_advice", Description: "Advice for a crossing",
		Arguments: []*mcp.PromptArgument{
			{Name: "port", Description: "Port of departure", Required: true},
			{Name: "luggage", Description: "What the traveller brings"},
		},
	}, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		port := r.Params.Arguments["port"]
		if port == "" {
			return nil, invalid("missing argument %q", "port")
		}
		ask := "How do I travel from " + port + "?"
		if l := r.Params.Arguments["luggage"]; l != "" {
			ask += " I bring " + l + "."
		}
		msgs := []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: ask}}}
		if on("advice-system-role") {
			msgs = append([]*mcp.PromptMessage{{Role: "system", Content: &mcp.TextContent{Text: "You answer for a ferry line."}}}, msgs...)
		}
		return &mcp.GetPromptResult{Description: "Advice for a crossing", Messages: msgs}, nil
	})
	s.AddPrompt(&mcp.Prompt{
		Name: "incident_report", Description: "Report about one departure",
		Arguments: []*mcp.PromptArgument{{Name: "sailing", Description: "Number of the departure", Required: true}},
	}, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		id := r.Params.Arguments["sailing"]
		sl, ok := lookup(id)
		if !ok {
			return nil, invalid("unknown sailing %q", id)
		}
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
			{Role: "user", Content: &mcp.TextContent{Text: "Write a short report about this departure."}},
			{Role: "user", Content: &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
				URI: sailingURI(id), MIMEType: "application/json", Text: asJSON(sl)}}},
		}}, nil
	})
}

func complete(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	var all []string
	switch ref := r.Params.Ref; ref.Type {
	case "ref/prompt":
		switch ref.Name + "/" + r.Params.Argument.Name {
		case "travel_advice/port":
			all = ports
		case "incident_report/sailing":
			all = ids()
		case "travel_advice/luggage":
			all = []string{"a bicycle", "a dog", "nothing"}
		default:
			return nil, invalid("nothing to complete for %q of %q", r.Params.Argument.Name, ref.Name)
		}
	case "ref/resource":
		switch ref.URI + "/" + r.Params.Argument.Name {
		case "ferry://sailings/{id}/id":
			all = ids()
		case "ferry://ports/{port}/port":
			all = ports
		default:
			return nil, invalid("nothing to complete for %q of %q", r.Params.Argument.Name, ref.URI)
		}
	}
	values := []string{}
	for _, v := range all {
		if strings.HasPrefix(strings.ToLower(v), strings.ToLower(r.Params.Argument.Value)) {
			values = append(values, v)
		}
	}
	total := len(values)
	if total > 100 && !on("completion-whole-list") {
		values = values[:100]
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{
		Values: values, Total: total, HasMore: total > len(values),
	}}, nil
}
