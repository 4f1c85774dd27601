package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// row is one feature. play returns nil when it works.
type row struct {
	name string
	play func(ctx context.Context, t *table) error
}

const autoRow = "auto"

// rows in the order they are played: close comes after all that need the
// connection, auto opens one of its own.
var rows = []row{
	{"list", list},
	{"call", call},
	{"read", read},
	{"prompt", prompt},
	{"complete", complete},
	{"progress", progress},
	{"cancel", cancel},
	{"elicit", elicit},
	{"sample", sample},
	{"subscribe", subscribe},
	{"era", era},
	{"close", closing},
	{autoRow, auto},
}

func contains(text, want string) error {
	if !strings.Contains(text, want) {
		return unexpected("text", fmt.Sprintf("%.200q", text), fmt.Sprintf("%q in it", want))
	}
	return nil
}

// list walks all lists and looks for what the other rows use.
func list(ctx context.Context, t *table) error {
	missing := []string{t.menu.echo.tool, t.menu.elicit.tool, t.menu.sample.tool}
	for tool, err := range t.c.Tools(ctx) {
		if err != nil {
			return err
		}
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == tool.Name })
	}
	if len(missing) > 0 {
		return unexpected("tools", "without "+strings.Join(missing, ", "), "all")
	}
	found := false
	for p, err := range t.c.Prompts(ctx) {
		if err != nil {
			return err
		}
		found = found || p.Name == t.menu.prompt
	}
	if !found {
		return unexpected("prompts", "without "+t.menu.prompt, "all")
	}
	resources := 0
	for _, err := range t.c.Resources(ctx) {
		if err != nil {
			return err
		}
		resources++
	}
	if resources == 0 {
		return unexpected("resources", 0, "some")
	}
	return nil
}

func call(ctx context.Context, t *table) error {
	_, err := t.say(ctx, t.menu.echo)
	return err
}

func read(ctx context.Context, t *table) error {
	res, err := t.c.ReadResource(ctx, t.menu.read)
	if err != nil {
		return err
	}
	if len(res.Contents) != 1 || res.Contents[0].Text == nil {
		return unexpected("contents", len(res.Contents), "one text")
	}
	return contains(*res.Contents[0].Text, t.menu.readWant)
}

func prompt(ctx context.Context, t *table) error {
	res, err := t.c.GetPrompt(ctx, t.menu.prompt, t.menu.promptArguments)
	if err != nil {
		return err
	}
	if len(res.Messages) == 0 {
		return unexpected("messages", 0, "some")
	}
	block, is := res.Messages[0].Content.(*mcp.TextContent)
	if !is {
		return unexpected("content", fmt.Sprintf("%T", res.Messages[0].Content), "text")
	}
	return contains(block.Text, t.menu.promptWant)
}

func complete(ctx context.Context, t *table) error {
	got, err := t.c.Complete(ctx, t.menu.complete, t.menu.completeArgument, nil)
	if err != nil {
		return err
	}
	if !slices.Equal(got.Values, t.menu.completeWant) {
		return unexpected("values", got.Values, t.menu.completeWant)
	}
	return nil
}

// progress must all have been told, growing, by the time the call returns.
func progress(ctx context.Context, t *table) error {
	var mu sync.Mutex
	var seen []float64
	_, err := t.say(ctx, t.menu.progress, client.WithProgress(func(p mcp.ProgressParams) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, p.Progress)
	}))
	if err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	if len(seen) < t.menu.progressLeast || !slices.IsSorted(seen) {
		return unexpected("progress", seen, fmt.Sprintf("%d that grow", t.menu.progressLeast))
	}
	return nil
}

func elicit(ctx context.Context, t *table) error {
	_, err := t.say(ctx, t.menu.elicit)
	return err
}

func sample(ctx context.Context, t *table) error {
	_, err := t.say(ctx, t.menu.sample)
	return err
}

// answers are what the application gives servers that ask.
func answers() []client.Option {
	return []client.Option{
		client.OnElicitForm(func(_ context.Context, r client.FormRequest) (*mcp.ElicitResult, error) {
			filled := map[string]any{}
			for _, f := range r.Fields {
				switch f.Name {
				case "name", "username":
					filled[f.Name] = "Ada"
				case "email":
					filled[f.Name] = "ada@example.com"
				}
			}
			return client.AcceptForm(filled)
		}),
		client.OnSampling(func(context.Context, client.SamplingRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{
				Role: mcp.RoleAssistant, Model: "model-1", Content: []mcp.Content{&mcp.TextContent{Text: "a thought"}}, StopReason: "endTurn",
			}, nil
		}),
	}
}
