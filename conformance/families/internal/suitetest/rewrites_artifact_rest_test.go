package suitetest

import (
	"net/http"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance/families/checks/artifact"
)

// taskServiceRewrites has a defect for each check of the Task Tracking service.
func taskServiceRewrites() map[string]rewritten {
	const next, batch, list, status = "GET /tasks/next", "POST /tasks/batch", "GET /tasks", "PUT /tasks/*"
	of := func(endpoint, object, member string, value any) rewritten {
		return served(endpoint, func(_ *artifact.RestAnswer, body reply) {
			if inner, ok := body[object].(reply); ok {
				inner[member] = value
			}
		})
	}
	member := func(endpoint, member string, value any) rewritten {
		return served(endpoint, func(_ *artifact.RestAnswer, body reply) { body[member] = value })
	}
	answering := func(endpoint string, status, with int) rewritten {
		return served(endpoint, func(a *artifact.RestAnswer, _ reply) {
			if a.Status == status {
				a.Status = with
			}
		})
	}
	return map[string]rewritten{
		"S0-TASKAPI-01/oldest": of(next, "task", "task_id", "TASK-001"),
		"S0-TASKAPI-01/members": served(next, func(_ *artifact.RestAnswer, body reply) {
			if task, ok := body["task"].(reply); ok {
				delete(task, "created_at")
			}
		}),
		"S0-TASKAPI-02":           member(next, "message", "nothing"),
		"S0-TASKAPI-03":           answering(next, http.StatusBadRequest, http.StatusNotFound),
		"S0-TASKAPI-04/started":   of(status, "updated_task", "started_at", ""),
		"S0-TASKAPI-04/completed": of(status, "updated_task", "completion_notes", ""),
		"S0-TASKAPI-05/back":      member(status, "detail", "no"),
		"S0-TASKAPI-05/skip":      answering(status, http.StatusBadRequest, http.StatusOK),
		"S0-TASKAPI-05/unknown":   answering(status, http.StatusBadRequest, http.StatusConflict),
		"S0-TASKAPI-05/unchanged": member(list, "count", 0),
		"S0-TASKAPI-06":           answering(status, http.StatusNotFound, http.StatusBadRequest),
		"S0-TASKAPI-07/project":   member(list, "count", 4),
		"S0-TASKAPI-07/status":    member(list, "tasks", []any{}),
		"S0-TASKAPI-11":           member(list, "tasks", []any{}),
		"S0-TASKAPI-08/created":   answering(batch, http.StatusCreated, http.StatusOK),
		"S0-TASKAPI-08/unique":    served(batch, func(_ *artifact.RestAnswer, body reply) { sameIDs(body) }),
		"S0-TASKAPI-09":           member(list, "count", 1),
		"S0-TASKAPI-10":           member(batch, "detail", "Task validation failed"),
		"S0-TASKAPI-14/malformed": answering(batch, http.StatusBadRequest, http.StatusInternalServerError),
		"S0-TASKAPI-16":           answering(status, http.StatusConflict, http.StatusOK),
	}
}

// sameIDs gives all tasks of a batch one id.
func sameIDs(body reply) {
	if ids, ok := body["task_ids"].([]any); ok {
		body["task_ids"] = slices.Repeat([]any{"TASK-007"}, len(ids))
	}
}

// idServiceRewrites has a defect for each check of the ID Management service and
// of the settings of both.
func idServiceRewrites() map[string]rewritten {
	const next, reserve, confirm = "GET /ids/next", "POST /ids/reserve", "POST /ids/confirm"
	member := func(endpoint, member string, value any) rewritten {
		return served(endpoint, func(a *artifact.RestAnswer, body reply) { body[member] = value })
	}
	answering := func(endpoint string, status, with int) rewritten {
		return served(endpoint, func(a *artifact.RestAnswer, _ reply) {
			if a.Status == status {
				a.Status = with
			}
		})
	}
	return map[string]rewritten{
		"S0-IDAPI-01/body": member(next, "last_assigned", "US-000"),
		"S0-IDAPI-01/store": served(next, func(a *artifact.RestAnswer, _ reply) {
			a.Header.Del("Cache-Control")
		}),
		"S0-IDAPI-02/type":      member(next, "detail", "Invalid artifact_type: NOPE"),
		"S0-IDAPI-02/project":   answering(next, http.StatusBadRequest, http.StatusNotFound),
		"S0-IDAPI-03/body":      member(reserve, "reservation_id", "abc-123"),
		"S0-IDAPI-03/expiry":    member(reserve, "expires_at", "2099-01-01T00:00:00Z"),
		"S0-IDAPI-03/count":     answering(reserve, http.StatusBadRequest, http.StatusOK),
		"S0-IDAPI-04/confirmed": member(confirm, "confirmed", false),
		"S0-IDAPI-04/again":     member(confirm, "confirmed", false),
		"S0-IDAPI-05/unknown":   answering(confirm, http.StatusNotFound, http.StatusOK),
		"S0-IDAPI-05/malformed": answering(confirm, http.StatusBadRequest, http.StatusNotFound),
		"S0-IDAPI-06/live":      answering("DELETE /ids/*", http.StatusOK, http.StatusInternalServerError),
		"S0-IDAPI-11":           answering(reserve, http.StatusOK, http.StatusServiceUnavailable),
		"S0-IDAPI-11/ranges":    member(reserve, "reserved_ids", []string{"US-001", "US-002"}),

		"S0-TASKAPI-15/none":   answering("DELETE /ids/*", http.StatusUnauthorized, http.StatusOK),
		"S0-TASKAPI-15/wrong":  answering("PUT /tasks/*", http.StatusUnauthorized, http.StatusOK),
		"S0-TASKAPI-15/right":  answering(reserve, http.StatusOK, http.StatusUnauthorized),
		"S0-TASKAPI-15/health": answering("GET /health", http.StatusOK, http.StatusUnauthorized),
		"S0-IDAPI-08":          member(reserve, "expires_at", "2099-01-01T00:00:00Z"),
		"X-LOG-02/key": logged("services_started", func(line reply) reply {
			line["key"] = artifact.ServiceKey
			return line
		}),
	}
}
