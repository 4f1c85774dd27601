package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// exampleServer is a small MCP server with one tool, greet.
func exampleServer() *httptest.Server {
	results := map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"greeter","version":"1.0.0"}}`,
		"tools/list": `{"tools":[{"name":"greet","inputSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}]}`,
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			ID     json.RawMessage
			Method string
			Params struct{ Arguments struct{ Name string } }
		}
		if json.NewDecoder(r.Body).Decode(&req) != nil || req.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		result, ok := results[req.Method]
		if !ok {
			text := "Hello, " + req.Params.Arguments.Name + "!"
			result = fmt.Sprintf(`{"content":[{"type":"text","text":%q}],"structuredContent":{"greeting":%q}}`, text, text)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, req.ID, result)
	}))
}

func ExampleDial() {
	server := exampleServer()
	defer server.Close()
	ctx, url := context.Background(), server.URL

	c, err := client.Dial(ctx, url)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	res, err := c.CallTool(ctx, "greet", map[string]any{"name": "you"})
	fmt.Println(res.Text(), err)
	// Output: Hello, you! <nil>
}

func ExampleWithResilience() {
	server := exampleServer()
	defer server.Close()
	ctx, url := context.Background(), server.URL

	c, err := client.Dial(ctx, url, client.WithResilience(client.Resilience{
		IdleTimeout: 20 * time.Second,
		Breaker:     breaker.New(breaker.Settings{Name: "greeter", FailureThreshold: 3}),
	}))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	fmt.Println(c.Breaker().State())
	// Output: CLOSED
}

func ExampleCallAs() {
	server := exampleServer()
	defer server.Close()
	ctx := context.Background()
	c, err := client.Dial(ctx, server.URL)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	type in struct {
		Name string `json:"name"`
	}
	type out struct {
		Greeting string `json:"greeting"`
	}
	got, err := client.CallAs[out](ctx, c, "greet", in{Name: "Ada"})
	fmt.Println(got.Greeting, err)
	// Output: Hello, Ada! <nil>
}

func ExampleClient_CallTool_errors() {
	server := exampleServer()
	defer server.Close()
	ctx := context.Background()
	c, err := client.Dial(ctx, server.URL)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	_, err = c.CallTool(ctx, "greet", map[string]any{"nam": "you"})
	var e *mcperrors.Error
	switch {
	case errors.Is(err, mcperrors.ErrCircuitOpen):
		fmt.Println("shed load, try elsewhere")
	case errors.As(err, &e) && e.Delivery == mcperrors.NotSent:
		fmt.Println(e.Code, e.Kind, "nothing was sent")
	case mcperrors.SafeToRetry(err) && mcperrors.Retryable(err):
		fmt.Println("try again after", e.RetryAfter)
	}
	fmt.Println(e.Message)
	// Output:
	// E203 invalid-arguments nothing was sent
	// the arguments do not match greet: "name" is required; "nam" is not a known property; did you mean name? signature: greet(name: string)
}

func ExampleClient_Tools() {
	server := exampleServer()
	defer server.Close()
	ctx := context.Background()
	c, err := client.Dial(ctx, server.URL)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	for tool, err := range c.Tools(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(tool.Name)
	}
	// Output: greet
}

func ExampleClient_Call() {
	server := exampleServer()
	defer server.Close()
	ctx := context.Background()
	c, err := client.Dial(ctx, server.URL)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	raw, err := c.Call(ctx, "custom/anything", json.RawMessage(`{"arguments":{"name":"raw"}}`))
	var rpc *jsonrpc.Error
	fmt.Println(errors.As(err, &rpc), len(raw) > 0)
	// Output: false true
}

// A health endpoint for the breakers of all servers.
func ExampleClient_Breaker() {
	server := exampleServer()
	defer server.Close()
	c, err := client.Dial(context.Background(), server.URL)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	mux := http.NewServeMux()
	mux.Handle("/health", breaker.Handler(c.Breaker()))
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/health", nil))
	fmt.Println(w.Code)
	// Output: 200
}
