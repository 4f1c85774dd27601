package clients

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
)

// frames makes the bytes the floors send, once for each tool: a floor encodes
// nothing while it is measured.
type frames struct {
	modern bool
	mu     sync.RWMutex
	made   map[string][]byte // by tool, without the beginning
	wholes map[string][]byte // by tool
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + Modern + `",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// call returns everything of a tools/call that follows its id. The arguments
// of one tool are those of its first call, which is what workloads do.
func (f *frames) call(tool string, args any) ([]byte, error) {
	f.mu.RLock()
	frame := f.made[tool]
	f.mu.RUnlock()
	if frame != nil {
		return frame, nil
	}
	raw, err := rawArgs(args)
	if err != nil {
		return nil, err
	}
	frame = f.rest("tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, tool, raw))
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.made == nil {
		f.made = map[string][]byte{}
	}
	f.made[tool] = frame
	return frame, nil
}

// whole returns a tools/call with the id 1, for floors that need no other.
func (f *frames) whole(tool string, args any) ([]byte, error) {
	f.mu.RLock()
	frame := f.wholes[tool]
	f.mu.RUnlock()
	if frame != nil {
		return frame, nil
	}
	rest, err := f.call(tool, args)
	if err != nil {
		return nil, err
	}
	frame = withID(nil, 1, rest)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.wholes == nil {
		f.wholes = map[string][]byte{}
	}
	f.wholes[tool] = frame
	return frame, nil
}

// rest is a request from behind its id on. params are members without braces.
func (f *frames) rest(method, params string) []byte {
	if f.modern {
		if params != "" {
			params += ","
		}
		params += modernMeta
	}
	return []byte(`,"method":"` + method + `","params":{` + params + "}}\n")
}

// opening is the requests that open a connection, and how.
func (f *frames) opening() (method string, rest []byte) {
	if f.modern {
		return "server/discover", f.rest("server/discover", "")
	}
	return "initialize", f.rest("initialize",
		`"protocolVersion":"`+Legacy+`","capabilities":{},"clientInfo":{"name":"bench","version":"1"}`)
}

const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"

const frameHead = `{"jsonrpc":"2.0","id":`

func withID(b []byte, id int, rest []byte) []byte {
	b = append(b, frameHead...)
	b = strconv.AppendInt(b, int64(id), 10)
	return append(b, rest...)
}

var (
	textKey  = []byte(`"text":"`)
	idKey    = []byte(`"id":`)
	nameKey  = []byte(`{"name":"`)
	errorKey = []byte(`,"error":`)
	errGone  = errors.New("the server has gone")
)

// textLength is the length of the first text of an answer, as it stands there.
func textLength(answer []byte) (int, error) {
	i := bytes.Index(answer, textKey)
	if i < 0 {
		return 0, fmt.Errorf("no text in %.200q", answer)
	}
	i += len(textKey)
	end := bytes.IndexByte(answer[i:], '"')
	if end < 0 {
		return 0, fmt.Errorf("no end of the text in an answer of %d bytes", len(answer))
	}
	return end, nil
}

// idOf reads the number after "id":.
func idOf(answer []byte) int {
	i := bytes.Index(answer[:min(len(answer), 64)], idKey)
	if i < 0 {
		return -1
	}
	id := 0
	for _, c := range answer[i+len(idKey):] {
		if c < '0' || c > '9' {
			break
		}
		id = id*10 + int(c-'0')
	}
	return id
}

// ended is why a wait was given up.
func ended(ctx context.Context) error { return context.Cause(ctx) }
