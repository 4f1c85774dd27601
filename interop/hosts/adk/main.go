// Command adk shows what becomes of a payment whose answer is lost: an agent of Google's ADK
// for Go, with a scripted model, calls a tool that pays. Its mcptoolset reconnects and calls
// again; through mcpctl proxy the tool runs once, and the model reads that it may have run.
// Exit 0: that is so; 1: it is not; 2: it could not be played.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/mcptoolset"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// mayHaveRun is what a model must read when the answer is lost.
const mayHaveRun = "The tool may have run: check before you call it again"

// fronts are the ways to the server, and what is to be seen there.
var fronts = []struct {
	name     string
	open     func(ctx context.Context, mcpctl, url string) (mcp.Transport, func(), error)
	payments int
	reads    string // in what the model reads
}{
	{"none", direct, 2, "paid"},
	{"stdio", overStdio, 1, mayHaveRun},
	{"HTTP", overHTTP, 1, mayHaveRun},
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("adk", flag.ContinueOnError)
	flags.SetOutput(stderr)
	mcpctl := flags.String("mcpctl", "mcpctl", "the program mcpctl")
	work := flags.String("work", "", "an empty folder for the counts")
	page := flags.String("page", "", "the Markdown file to add the table to")
	if flags.Parse(args) != nil {
		return 2
	}
	code := 0
	table := pageHead
	fmt.Fprintf(stdout, "%-20s%-8s%-10s%s\n", "host", "front", "payments", "what the model reads of the one call that it made")
	for _, front := range fronts {
		ctx, stop := context.WithTimeout(ctx, time.Minute)
		t := &till{file: filepath.Join(*work, "payments-"+front.name)}
		read, err := pay(ctx, t, func(url string) (mcp.Transport, func(), error) { return front.open(ctx, *mcpctl, url) })
		stop()
		if err != nil {
			fmt.Fprintf(stderr, "ADK, %s: %v\n", front.name, err)
			return 2
		}
		payments, err := t.payments()
		if err != nil {
			fmt.Fprintln(stderr, err)
			return 2
		}
		fmt.Fprintf(stdout, "%-20s%-8s%-10d%s\n", "ADK for Go", front.name, payments, read)
		table += fmt.Sprintf("| %s | %d | %s |\n", front.name, payments, read)
		if payments != front.payments || !strings.Contains(read, front.reads) {
			fmt.Fprintf(stdout, "FAIL ADK for Go, %s: want %d payments and %q\n", front.name, front.payments, front.reads)
			code = 1
		}
	}
	if *page == "" || code != 0 {
		return code
	}
	if err := add(*page, table); err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	return code
}

const pageHead = `
## A payment whose answer is lost

An agent of Google's ADK for Go, with a scripted model, calls a tool that pays. The server pays and
closes the connection before it answers. ADK's ` + "`mcptoolset`" + ` reconnects and calls again. Through the
proxy it reads a result instead, and so does the model.

| front | payments | what the model reads of the one call that it made |
|---|---|---|
`

// add appends a text to a file.
func add(file, text string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// pay runs the agent once and returns what its model read of the tool.
func pay(ctx context.Context, t *till, open func(url string) (mcp.Transport, func(), error)) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: t, ReadHeaderTimeout: time.Minute}
	go server.Serve(l)   //nolint:errcheck // Close ends it
	defer server.Close() //nolint:errcheck // nothing is open any more
	transport, end, err := open("http://" + l.Addr().String() + "/mcp")
	if err != nil {
		return "", err
	}
	defer end()
	tools, err := mcptoolset.New(mcptoolset.Config{Transport: transport})
	if err != nil {
		return "", err
	}
	m := &scripted{}
	a, err := llmagent.New(llmagent.Config{Name: "payer", Model: m, Toolsets: []tool.Toolset{tools}})
	if err != nil {
		return "", err
	}
	r, err := runner.NewInMemory("hosts", a)
	if err != nil {
		return "", err
	}
	for _, err := range r.Run(ctx, "user", "session", genai.NewContentFromText("Pay 10.", genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			return "", err
		}
	}
	return strings.ReplaceAll(m.read, l.Addr().String(), "ADDRESS"), nil
}

// scripted is a model that calls the tool once and believes the answer.
type scripted struct{ read string }

// Name implements [model.LLM].
func (*scripted) Name() string { return "scripted" }

// GenerateContent implements [model.LLM].
func (m *scripted) GenerateContent(_ context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	answer := genai.NewContentFromFunctionCall("pay", map[string]any{"amount": 10}, genai.RoleModel)
	for _, content := range req.Contents {
		for _, part := range content.Parts {
			if part.FunctionResponse != nil {
				m.read = fmt.Sprint(part.FunctionResponse.Response)
				answer = genai.NewContentFromText("Done.", genai.RoleModel)
			}
		}
	}
	return func(yield func(*model.LLMResponse, error) bool) { yield(&model.LLMResponse{Content: answer}, nil) }
}

func direct(_ context.Context, _, url string) (mcp.Transport, func(), error) {
	return &mcp.StreamableClientTransport{Endpoint: url}, func() {}, nil
}

func overStdio(ctx context.Context, mcpctl, url string) (mcp.Transport, func(), error) {
	ctx, stop := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, mcpctl, "proxy", url)
	return &mcp.CommandTransport{Command: cmd}, stop, nil // ADK does not close its sessions
}

func overHTTP(ctx context.Context, mcpctl, url string) (mcp.Transport, func(), error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, mcpctl, "proxy", "--listen", address, "--no-auth", url)
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		stop()
		return nil, nil, err
	}
	end := func() {
		stop()
		_ = cmd.Wait() // killed
	}
	for range 100 {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return &mcp.StreamableClientTransport{Endpoint: "http://" + address + "/mcp"}, end, conn.Close()
		}
		<-time.After(100 * time.Millisecond)
	}
	end()
	return nil, nil, fmt.Errorf("the proxy does not listen after 10 s: %s", said.String())
}
