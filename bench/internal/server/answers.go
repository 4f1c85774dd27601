package server

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// SmallText is what the tool echo answers: 96 bytes, the small call of all
// workloads.
const SmallText = "012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345"

// Text is log-like text of size bytes: lines of 79 letters and a newline, which
// is an escape in JSON.
func Text(size int) string {
	line := strings.Repeat("abcdefghij", 8)[:79] + "\n"
	return strings.Repeat(line, size/len(line)+1)[:size]
}

// OwnTools is how many tools the server has before it adds others to fill its list.
const OwnTools = 8

// answers holds the results of one era, ready to be sent.
type answers struct {
	modern     bool
	initialize []byte
	discover   []byte
	tools      []byte
	small      []byte
	// callTail follows the text of a tool's result.
	callTail []byte

	mu    sync.Mutex
	large map[int][]byte // by size of the text
}

const serverInfo = `{"name":"bench","version":"1"}`

func newAnswers(modern bool, tools int, label string) *answers {
	a := &answers{modern: modern, large: map[int][]byte{}}
	capabilities := `{"tools":{}}`
	a.initialize = []byte(`{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"serverInfo":` + serverInfo + `}`)
	a.discover = []byte(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":` + capabilities +
		`,"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":` + serverInfo + `}}`)
	a.callTail = []byte(`"}]}`)
	if modern {
		// Servers of this revision say who they are in every result, as
		// go-sdk's does.
		a.callTail = []byte(`"}],"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":` + serverInfo + `}}`)
	}
	a.small = a.call(SmallText)
	a.tools = a.list(tools, label)
	return a
}

const callHead = `{"content":[{"type":"text","text":"`

// call returns the result of a tool that answers text, which must be letters
// and newlines.
func (a *answers) call(text string) []byte {
	escaped := strings.ReplaceAll(text, "\n", `\n`)
	return append(append([]byte(callHead), escaped...), a.callTail...)
}

// ofSize returns a result with that many bytes of text, made once.
func (a *answers) ofSize(size int) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ready, ok := a.large[size]; ok {
		return ready
	}
	made := a.call(Text(size))
	a.large[size] = made
	return made
}

// count is a number a client can read whatever it makes of content: a text of
// that many letters.
func (a *answers) count(n int) []byte { return a.call(strings.Repeat("n", n)) }

// list is the result of tools/list. Beyond the server's own tools it is what
// big servers have: about 1.3 KB a tool, a third of them with an output schema. A
// server with a label has one tool of its own.
func (a *answers) list(tools int, label string) []byte {
	var b bytes.Buffer
	b.WriteString(`{"tools":[`)
	own := ownTools[:min(tools, OwnTools)]
	if label != "" {
		own = ownTools[:1]
	}
	for i, tool := range own {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":%q,"description":%q,"inputSchema":{"type":"object","properties":{%s}}}`,
			tool.name, tool.does, tool.properties)
	}
	for i := len(own); i < tools; i++ {
		b.WriteByte(',')
		fill(&b, i, label)
	}
	b.WriteString(`]`)
	if a.modern {
		b.WriteString(`,"resultType":"complete","ttlMs":60000,"cacheScope":"private"`)
	}
	b.WriteString(`}`)
	return b.Bytes()
}

// FilledTool is the name of the tool at place i of a filled list.
func FilledTool(i int) string { return "records_" + strconv.Itoa(i) }

func fill(b *bytes.Buffer, i int, label string) {
	fmt.Fprintf(b, `{"name":%q,"title":"Records of table %d","description":"Reads, filters and sorts the records of table %s%d. `+
		`Give a filter to read less; without one the newest records come first. Dates are RFC 3339, amounts are in cents, and names are `+
		`matched from their beginning.","inputSchema":{"type":"object","properties":{`, FilledTool(i), i, label, i)
	for p := range 6 {
		if p > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, `"field_%d":{"type":"string","description":"What field %d must hold, at most 200 letters","maxLength":200}`, p, p)
	}
	b.WriteString(`,"limit":{"type":"integer","minimum":1,"maximum":1000,"default":100},"order":{"enum":["newest","oldest","name"]}},"required":["field_0"]}`)
	if i%3 == 0 {
		b.WriteString(`,"outputSchema":{"type":"object","properties":{"records":{"type":"array","items":{"type":"object","properties":{` +
			`"id":{"type":"string"},"name":{"type":"string"},"amount":{"type":"integer"},"at":{"type":"string","format":"date-time"}},` +
			`"required":["id"]}},"more":{"type":"boolean"}},"required":["records"]}`)
	}
	b.WriteString(`,"annotations":{"readOnlyHint":true,"openWorldHint":false}}`)
}

var ownTools = [OwnTools]struct{ name, does, properties string }{
	{"echo", "Answers a small text.", `"message":{"type":"string"}`},
	{"large", "Answers size bytes of text.", `"size":{"type":"integer"}`},
	{"sink", "Takes a payload and answers a small text.", `"payload":{"type":"string"}`},
	{"hold", "Answers none until n calls are there, then all.", `"n":{"type":"integer"}`},
	{"silent", "Never answers.", ``},
	{"count", "Answers as many letters as calls of silent have come.", ``},
	{"half", "HTTP: sends half an answer and no more.", ``},
	{"stall", "stdio: never reads again.", ``},
}
