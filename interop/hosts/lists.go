package main

import (
	"path/filepath"
	"strings"

	"github.com/mainstay-mcp/mainstay/interop/hosts/orders"
)

// host is a program with the client of an SDK in it, or a command of others.
type host struct {
	name    string
	command []string
	session bool     // keep it to the session era, if it is not its only one
	lacks   []string // steps that it has no command for
}

func hosts(where places) []host {
	program := func(name string) []string { return []string{filepath.Join(where.bin, name)} }
	script := func(name string) []string { return []string{where.node, filepath.Join(where.modules, name)} }
	return []host{
		{name: "go-sdk", command: program("gosdk")},
		{name: "go-sdk session", command: program("gosdk"), session: true},
		{name: "mcp-go", command: program("mcpgo")},
		{name: "mcp-go session", command: program("mcpgo"), session: true},
		{name: "TypeScript v1", command: script("v1.mjs"), session: true},
		{name: "TypeScript v2", command: script("v2.mjs"), session: true}, // its default
		{name: "TypeScript v2 auto", command: script("v2.mjs")},
		{
			name: "Inspector CLI", command: script("inspector.mjs"), session: true, // its default
			lacks: []string{"progress", "elicit", "sample", "roots", "cancel", "subscribe", "log"},
		},
	}
}

// server is what the proxy starts, and what the steps use there.
type server struct {
	name    string
	command []string
	flags   []string // of mcpctl
	title   string   // what it calls itself
	echo    order
	// progress are three at least; slow tells its progress and lasts.
	progress, slow       order
	elicit, sample, root order
	log                  order // logs a message of any level
	resource             string
	touch                order  // makes it say that the resource has changed
	canceled             string // in its log after a canceled call; "": nothing
}

// order is a tool call and what its text must contain.
type order struct {
	tool string
	args map[string]any
	want string
}

func (o order) as(do string) orders.Order {
	args := o.args
	if args == nil {
		args = map[string]any{} // some servers want an object
	}
	return orders.Order{Do: do, Name: o.tool, Args: args}
}

func servers(where places) []server {
	refserver := server{
		name: "refserver", title: "mainstay-refserver",
		command:  []string{filepath.Join(where.bin, "refserver"), "--families", "fixtures"},
		echo:     order{tool: "test_simple_text", want: "simple text"},
		progress: order{tool: "test_tool_with_progress"}, slow: order{tool: "test_tool_with_progress"},
		elicit:   order{"test_elicitation", map[string]any{"message": "who?"}, "Ada"},
		sample:   order{"test_sampling", map[string]any{"prompt": "p"}, "a thought"},
		root:     order{tool: "test_input_required_result_list_roots", want: "file:///home/ada"},
		log:      order{tool: "test_tool_with_logging"},
		resource: "test://watched-resource", touch: order{tool: "test_trigger_resource_update"},
		canceled: `"cause":"context canceled"`,
	}
	session := refserver
	session.name, session.flags = "refserver session", []string{"--era", "session"}
	return []server{refserver, session, {
		name: "everything", title: "mcp-servers/everything",
		command:  []string{where.node, filepath.Join(where.modules, "node_modules/@modelcontextprotocol/server-everything/dist/index.js"), "stdio"},
		echo:     order{"echo", map[string]any{"message": "hi"}, "Echo: hi"},
		progress: order{"trigger-long-running-operation", map[string]any{"duration": 0.3, "steps": 3}, "completed"},
		slow:     order{tool: "trigger-long-running-operation", args: map[string]any{"duration": 10, "steps": 100}},
		elicit:   order{"trigger-elicitation-request", nil, "Name: Ada"},
		sample:   order{"trigger-sampling-request", map[string]any{"prompt": "p"}, "a thought"},
		root:     order{tool: "get-roots-list", want: "file:///home/ada"},
		log:      order{tool: "toggle-simulated-logging"},
		resource: "demo://resource/dynamic/text/7", touch: order{tool: "toggle-subscriber-updates"},
	}}
}

// flaw is a step that fails in some rows and not because of the proxy. Hosts whose name
// begins with host have it.
type flaw struct{ step, host, front, server, why string }

var flaws = []flaw{
	{"cancel", "mcp-go session", overHTTP, "refserver", "over HTTP this host sends no notifications/cancelled"},
	{"end", "Inspector CLI", overHTTP, "", "this host sends no DELETE: the proxy ends its sessions when they are unused for 10 minutes"},
}

func (f flaw) of(r *row, step string) bool {
	return f.step == step && f.front == r.front && strings.HasPrefix(r.host.name, f.host) && strings.HasPrefix(r.server.name, f.server)
}
