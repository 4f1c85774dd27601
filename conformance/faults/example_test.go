package faults_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/faults"
)

const pay = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","_meta":{"example.org/idempotencyKey":"k1"}}}`

// Put the proxy before a server, here an http.Handler, and lose one answer.
func Example() {
	server := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
	})
	proxy, err := faults.New(faults.Plan{Rules: []faults.Rule{
		{Fault: "B4", When: faults.Selector{Tools: []string{"pay"}, Count: 1}},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	front := httptest.NewServer(proxy.Handler(server))
	defer front.Close()

	for range 2 {
		resp, err := http.Post(front.URL, "application/json", strings.NewReader(pay))
		if err != nil {
			fmt.Println("the connection broke")
			continue
		}
		fmt.Println(resp.Status)
		_ = resp.Body.Close()
	}
	for _, c := range proxy.History() {
		fmt.Printf("%s: fault %q, sent %t, delivered %t\n", c.Tool, c.Fault, c.Sent, c.Delivered)
	}
	fmt.Println("executed", proxy.Executions("k1"), "times")
	// Output:
	// the connection broke
	// 200 OK
	// pay: fault "B4", sent true, delivered false
	// pay: fault "", sent true, delivered true
	// executed 2 times
}

// Stand between the lines of a client and a server in memory.
func ExampleProxy_Stream() {
	proxy, err := faults.New(faults.Plan{Rules: []faults.Rule{{Fault: "E3", When: faults.Selector{Count: 1}}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fromClient, client := io.Pipe()
	answers, toClient := io.Pipe()
	serverIn, toServer := io.Pipe()
	fromServer, server := io.Pipe()
	go func() { // a server of one answer
		_, _ = serverIn.Read(make([]byte, 1024))
		_, _ = io.WriteString(server, `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n")
	}()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		ended <- proxy.Stream(ctx, faults.Ends{From: fromClient, To: toClient}, faults.Ends{From: fromServer, To: toServer})
	}()
	_, _ = io.WriteString(client, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
	buffer := make([]byte, 1024)
	for range 2 {
		n, _ := answers.Read(buffer)
		fmt.Print(string(buffer[:n]))
	}
	cancel()
	fmt.Println(<-ended)
	// Output:
	// Server listening on stdio
	// {"jsonrpc":"2.0","id":1,"result":{}}
	// context canceled
}

// A program that is the proxy before the command of a stdio server:
//
//	faultproxy -plan '{"rules":[{"fault":"E5","when":{"count":1}}]}' -journal seen.jsonl my-server --stdio
func ExampleMain() {
	os.Exit(faults.Main(context.Background(), os.Args[1:]))
}

// The catalogue is data.
func ExampleCatalogue() {
	for _, f := range faults.Catalogue() {
		if f.Made(faults.Dial) {
			fmt.Println(f.ID, f.Title)
		}
	}
	// Output:
	// A1 name does not resolve
	// A2 connection refused
	// A3 connection attempt is swallowed
	// A4 one address is dead, another lives
	// A8 no descriptors or ports left
	// A9 server flaps
}
