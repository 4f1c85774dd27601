package front

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mainstay-mcp/mainstay/conformance/server/tasks"
)

// taskParams are those of the requests about a task.
type taskParams struct {
	mcp.ParamsBase
	TaskID         string                     `json:"taskId"`
	InputResponses map[string]json.RawMessage `json:"inputResponses"`
}

// taskNamed refuses a request about a task whose header names another, or none.
// go-sdk knows no tasks.
func taskNamed(header http.Header, m *message) *fault {
	var id string
	if !strings.HasPrefix(m.method, "tasks/") || json.Unmarshal(m.open()["taskId"], &id) != nil {
		return nil
	}
	switch named, there := header[nameHeader]; {
	case !there:
		return mismatch(m.id, nameHeader+" is missing: it has to be the taskId of the body")
	case len(named) > 1 || named[0] != id:
		return mismatch(m.id, nameHeader+" is not the taskId of the body")
	}
	return nil
}

// subscribed returns the tasks that a subscription asks for news of, nil for one that
// asks for none. go-sdk does not read that part of the filter.
func subscribed(b Backend, m *message) (ids []string, f *fault) {
	if m.method != listenMethod || !b.Serves(EraStateless, tasks.Methods()[0]) {
		return nil, nil
	}
	var filter map[string]json.RawMessage
	_ = json.Unmarshal(m.open()["notifications"], &filter) // what is no object has no members
	raw, there := filter["taskIds"]
	if !there || string(raw) == "null" {
		return nil, nil
	}
	if json.Unmarshal(raw, &ids) != nil {
		return nil, m.badParams("notifications.taskIds", "notifications.taskIds must be a list of strings")
	}
	if !takesTasks(m) {
		return nil, &fault{id: m.id, err: tasks.ErrUndeclared()}
	}
	for name, part := range filter {
		if text := string(part); name != "taskIds" && text != "false" && text != "null" && text != "[]" {
			return nil, nil // news of tasks have a subscription of their own: a server may agree to a part
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return ids, nil
}

// takesTasks reports whether a request declares the extension.
func takesTasks(m *message) bool {
	var capabilities, extensions, meta map[string]json.RawMessage
	_ = json.Unmarshal(m.open()["_meta"], &meta) // as above
	_ = json.Unmarshal(meta[mcp.MetaKeyClientCapabilities], &capabilities)
	_ = json.Unmarshal(capabilities["extensions"], &extensions)
	_, declared := extensions[tasks.Extension]
	return declared
}

// newsStream sends notifications as events on the answer to a request.
type newsStream struct {
	mu sync.Mutex
	w  http.ResponseWriter // nil once the request has been served
}

var errStreamEnded = errors.New("front: the stream has ended")

func (s *newsStream) send(b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w == nil {
		return errStreamEnded
	}
	if _, err := s.w.Write(append(append([]byte("event: message\ndata: "), b...), "\n\n"...)); err != nil {
		return err
	}
	return http.NewResponseController(s.w).Flush()
}

func (s *newsStream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w = nil
}
