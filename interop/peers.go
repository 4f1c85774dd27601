package main

import (
	"slices"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// The ways to a server.
const (
	stdio = "stdio"
	http  = "HTTP"
	sse   = "SSE" // HTTP+SSE of the first revision, which the client falls back to
)

// places are where the programs of the peers are.
type places struct{ gosdk, mcpgo, refserver, everything string }

// peer is a server that somebody wrote.
type peer struct {
	name    string
	ways    []string // to it; at most one but stdio
	command []string // speaks stdio
	// listen is the command that serves HTTP on an address; PORT is in its
	// environment too.
	listen  func(address string) []string
	path    map[mcp.Version]string // below the address
	address string                 // once it serves
	log     *tail                  // of what it serves
	eras    []mcp.Version          // oldest first
	menu    menu
	// cannot says why a row is not offered. Only what the server's library really
	// cannot do stands here.
	cannot []remark
	// notes say what cells prove when it is less than elsewhere.
	notes []remark
}

// remark is about the cells of one row: those of the columns whose names contain in.
type remark struct{ row, in, text string }

// menu is what a peer has for the rows.
type menu struct {
	echo             order
	read, readWant   string
	prompt           string
	promptArguments  map[string]string
	promptWant       string
	complete         mcp.CompletionReference
	completeArgument mcp.CompletionArgument
	completeWant     []string
	progress         order
	progressLeast    int // notifications
	slow             order
	cancelled        string // the tool that says how many slow calls the server saw cancelled; "": none says
	lament           string // what the server logs about each such call; "": nothing
	elicit, sample   order
	subscribe        string
	touch            order // makes the server say that the resource has changed; no tool: it does so by itself
}

// order is a tool call and what its text must contain.
type order struct {
	tool string
	args map[string]any
	want string
}

func peers(where places) []peer {
	usual := []string{stdio, http}
	both := []mcp.Version{mcp.LatestSession, mcp.Latest}
	unheard := []remark{{row: "cancel", text: "none of its tools looks at the cancellation: what counts is that notifications/cancelled went out, the call returned at once and the connection still works"}}
	list := []peer{
		{
			name: "go-sdk", ways: usual, command: []string{where.gosdk}, eras: both, menu: ours(),
			listen: func(address string) []string { return []string{where.gosdk, "--http", address} },
			path:   map[mcp.Version]string{mcp.LatestSession: "/mcp", mcp.Latest: "/stateless"},
		},
		{
			name: "mcp-go", ways: usual, command: []string{where.mcpgo}, eras: both, menu: ours(),
			listen: func(address string) []string { return []string{where.mcpgo, "--http", address} },
			path:   map[mcp.Version]string{mcp.LatestSession: "/mcp", mcp.Latest: "/mcp"},
		},
		{
			name: "everything", ways: usual, command: []string{where.everything, "stdio"}, eras: both[:1], menu: everything(),
			listen: func(string) []string { return []string{where.everything, "streamableHttp"} },
			path:   map[mcp.Version]string{mcp.LatestSession: "/mcp"},
			notes:  unheard,
		},
		{
			name: "everything", ways: []string{sse}, eras: both[:1], menu: everything(), notes: unheard,
			listen: func(string) []string { return []string{where.everything, "sse"} },
			path:   map[mcp.Version]string{mcp.LatestSession: "/sse"},
		},
		{
			name: "refserver", ways: usual, command: []string{where.refserver, "--families", families}, eras: both, menu: refserver(),
			listen: func(address string) []string { return []string{where.refserver, "--http", address} },
			path:   map[mcp.Version]string{mcp.LatestSession: "/mcp", mcp.Latest: "/mcp"},
		},
	}
	return slices.DeleteFunc(list, func(p peer) bool { return p.name == "everything" && where.everything == "" })
}

// families are what refserver serves over HTTP anyway.
const families = "artifact,coe,docling,preflights,assistant,fixtures"

// ours is the menu of the servers in gosdk and mcpgo.
func ours() menu {
	return menu{
		echo: order{"echo", map[string]any{"message": "hi"}, "hi"},
		read: "interop://note", readWant: "revision",
		prompt: "greet", promptArguments: map[string]string{"name": "Ada"}, promptWant: "Greet Ada.",
		complete:         mcp.CompletionReference{Type: mcp.RefPrompt, Name: "greet"},
		completeArgument: mcp.CompletionArgument{Name: "name", Value: "a"}, completeWant: []string{"ada", "alan"},
		progress: order{"progress", nil, "done"}, progressLeast: 3,
		slow: order{tool: "slow"}, cancelled: "cancelled",
		elicit: order{"ask", nil, "accept: hello Ada"}, sample: order{"think", nil, "model-1 says: a thought"},
		subscribe: "interop://note", touch: order{"touch", nil, "revision"},
	}
}

func everything() menu {
	return menu{
		echo: order{"echo", map[string]any{"message": "hi"}, "Echo: hi"},
		read: "demo://resource/dynamic/text/7", readWant: "Resource 7:",
		prompt: "args-prompt", promptArguments: map[string]string{"city": "Graz"}, promptWant: "Graz",
		complete:         mcp.CompletionReference{Type: mcp.RefPrompt, Name: "completable-prompt"},
		completeArgument: mcp.CompletionArgument{Name: "department", Value: "S"}, completeWant: []string{"Sales", "Support"},
		progress: order{"trigger-long-running-operation", map[string]any{"duration": 0.3, "steps": 3}, "completed"}, progressLeast: 3,
		slow:   order{tool: "trigger-long-running-operation", args: map[string]any{"duration": 2, "steps": 1}},
		elicit: order{"trigger-elicitation-request", nil, "Name: Ada"}, sample: order{"trigger-sampling-request", map[string]any{"prompt": "p"}, "a thought"},
		subscribe: "demo://resource/dynamic/text/7", touch: order{"toggle-subscriber-updates", nil, "Started"},
	}
}

func refserver() menu {
	return menu{
		echo: order{"test_simple_text", nil, "simple text"},
		read: "test://static-text", readWant: "static text resource",
		prompt: "test_prompt_with_arguments", promptArguments: map[string]string{"arg1": "one", "arg2": "two"}, promptWant: "two",
		complete:         mcp.CompletionReference{Type: mcp.RefPrompt, Name: "test_prompt_with_arguments"},
		completeArgument: mcp.CompletionArgument{Name: "arg1", Value: "par"}, completeWant: []string{"paris", "park", "party"},
		progress: order{"test_tool_with_progress", nil, ""}, progressLeast: 3,
		slow: order{tool: "test_tool_with_progress"}, lament: `"cause":"context canceled"`,
		elicit: order{"test_elicitation", map[string]any{"message": "who?"}, "Ada"}, sample: order{"test_sampling", map[string]any{"prompt": "p"}, "a thought"},
		subscribe: "test://watched-resource",
	}
}
