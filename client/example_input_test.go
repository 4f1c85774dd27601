package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Handlers are registered once; the client declares what they can do and calls
// them in every era.
func ExampleOnElicitForm() {
	ctx := context.Background()
	c, err := client.Dial(ctx, "https://mcp.example.com/mcp",
		client.OnElicitForm(func(_ context.Context, r client.FormRequest) (*mcp.ElicitResult, error) {
			fmt.Printf("%s asks: %s\n", r.From.Server, r.Message)
			answers := map[string]any{}
			for _, field := range r.Fields {
				fmt.Printf("%s (%s)? ", field.Name, field.Type)
				var line string
				if _, err := fmt.Scanln(&line); err != nil {
					return nil, client.ErrRejected // declines
				}
				answers[field.Name] = line
			}
			return client.AcceptForm(answers)
		}),
		client.OnElicitURL(func(ctx context.Context, r client.URLRequest) (mcp.ElicitAction, error) {
			fmt.Printf("%s wants you to visit %s (on %s)\n", r.From.Server, r.URL, r.Host)
			if r.Done != nil { // else the server cannot say when it is done
				select {
				case <-r.Done:
				case <-time.After(5 * time.Minute):
				case <-ctx.Done():
				}
			}
			return mcp.ElicitAccept, nil
		}),
		client.WithRoots(mcp.Root{URI: "file:///home/me/project", Name: "project"}))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
}

// A program without anybody to ask hands the questions on, and makes the same
// call again when it has the answers.
func ExampleWithManualInput() {
	ctx := context.Background()
	c, err := client.Dial(ctx, "https://mcp.example.com/mcp", client.WithCapabilities(mcp.ClientCapabilities{
		Elicitation: &mcp.ElicitationCapability{Form: &mcp.EmptyCapability{}},
	}))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	args := map[string]any{"release": "1.2"}
	res, err := c.CallTool(ctx, "deploy", args, client.WithManualInput())
	var need *client.InputRequired
	for errors.As(err, &need) {
		answers := mcp.InputResponses{}
		for key := range need.Requests {
			answers[key] = json.RawMessage(`{"action":"decline"}`)
		}
		res, err = c.CallTool(ctx, "deploy", args, need.Answer(answers), client.WithManualInput())
		need = nil
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Text())
}
