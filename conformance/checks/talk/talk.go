// Package talk has the checks that are data: what is sent, and the pattern of what has to
// come back.
package talk

import (
	"embed"
	"fmt"
	"io/fs"
	"sync"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/conversation"
)

// The conversations without timing are data: what is sent, and the pattern of
// what has to come back. Each file is a scenario, each of its sections a check. What
// they say stands in checks.txt, with the texts of all others.
//
//	id: TALK-PING
//	capability: prompts               (optional)
//	tool: test_simple_text            (optional)
//
//	-- TALK-PING/empty-params --
//	> {"id":"p1","method":"ping","params":{}}
//	< {"id":"p1","result":{}}
//
// A line that begins with > is sent, with jsonrpc and what the revision asks of
// every request added; one that begins with >> is sent as it is. A line that
// begins with < is the pattern (pattern.go) of the answer to the request with
// that id; "< nothing" says that the line before it gets no answer.
//
//go:embed conversations/*.txtar
var conversationFiles embed.FS

// Scenarios returns the scenarios in the files.
func Scenarios() []conformance.Scenario {
	var out []conformance.Scenario
	for _, c := range All() {
		sc := c.Scenario
		sc.Run = c.Run
		out = append(out, sc)
	}
	return out
}

// All reads the files once. That each can be read is seen by the
// first test of all; a binary has no others.
var All = sync.OnceValue(func() []*conversation.Conversation {
	names, err := fs.Glob(conversationFiles, "conversations/*.txtar")
	if err != nil || len(names) == 0 {
		panic(fmt.Sprintf("conformance: no conversations: %v", err)) //nolint:forbidigo // embedded: a build without them is broken
	}
	var out []*conversation.Conversation
	for _, name := range names {
		data, err := conversationFiles.ReadFile(name)
		if err == nil {
			var c *conversation.Conversation
			if c, err = conversation.Read(data); err == nil {
				out = append(out, c)
				continue
			}
		}
		panic(fmt.Sprintf("conformance: %s: %v", name, err)) //nolint:forbidigo // as above
	}
	return out
})
