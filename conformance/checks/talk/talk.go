// Package talk has the checks that are data: what is sent, and the pattern of what has to
// come back.
package talk

import (
	"embed"
	"fmt"
	"io/fs"
	"sync"

	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
)

// The conversations without timing are data: what is sent, and the pattern of
// what has to come back. Each file is a scenario, each of its sections a check. Their
// texts are in checks.txt, with those of all others.
//
//	id: TALK-PING
//	capability: prompts               (optional)
//	tool: test_simple_text            (optional)
//	session: shared                   (optional: the session that scenarios share)
//	gentle: yes                       (optional: a gentle run may play it)
//
//	-- TALK-PING/empty-params --
//	> {"id":"p1","method":"ping","params":{}}
//	< {"id":"p1","result":{}}
//
// The lines of a section:
//
//	> MESSAGE        is sent, with jsonrpc and what the revision asks of every request;
//	                 "$id" is an id of its own, "$alive" a method that every server has,
//	                 and a member that is "$absent" is left out
//	>> TEXT          is sent as it is
//	< PATTERN        has to be the answer (pattern.go); without an id, to the line before
//	<house PATTERN   has to be it from servers that announce our error profiles; other
//	                 words are session, stateless, stdio, http, sse; of several lines
//	                 that are about a server the last holds
//	< nothing        no answer may come
//	< refused CODE   servers that announce our error profiles answer with the code,
//	                 others with any error or not at all
//	alive            the server still answers after all that was sent before
//	unless: NAME     skips the check if the server declares the capability
//	when: NAME       skips it if not
//	needs: PATH      skips it if the answer has nothing there
//	keep NAME: PATH, or WHY
//	                 keeps a value of the answer for "$NAME" in later lines; skips the
//	                 check, with the reason, if there is none
//
// A section that sends nothing sends what the section before it sends.
//
// A section is a family of checks if it has rows. The names of the columns stand for
// the cells of a row, in the id and in all lines; rows that are not in the id are lines
// of one check. Rows in the head make a family of scenarios:
//
//	-- TALK-CALLS/$word --
//	each: word | name
//	- empty-name | ""
//	- null-name | null
//	> {"id":"k-$word","method":"tools/call","params":{"name":$name,"arguments":{}}}
//	< {"id":"k-$word","error":"$object"}
//
//go:embed conversations/*.txtar
var conversationFiles embed.FS

// Scenarios returns the scenarios in the files.
func Scenarios() []engine.Scenario {
	var out []engine.Scenario
	for _, c := range All() {
		sc := c.Scenario
		sc.Run = c.Run
		out = append(out, sc)
	}
	return out
}

// All reads the files once. That each can be read is seen by the
// first test of all; a binary has no others.
var All = sync.OnceValue(func() []*talk.Conversation {
	names, err := fs.Glob(conversationFiles, "conversations/*.txtar")
	if err != nil || len(names) == 0 {
		panic(fmt.Sprintf("conformance: no conversations: %v", err)) //nolint:forbidigo // embedded: a build without them is broken
	}
	var out []*talk.Conversation
	for _, name := range names {
		data, err := conversationFiles.ReadFile(name)
		if err == nil {
			var some []*talk.Conversation
			if some, err = talk.ReadConversations(data); err == nil {
				out = append(out, some...)
				continue
			}
		}
		panic(fmt.Sprintf("conformance: %s: %v", name, err)) //nolint:forbidigo // as above
	}
	return out
})
