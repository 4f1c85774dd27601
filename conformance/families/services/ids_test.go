package services_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/services"
)

const validTypes = "US, SPEC, TASK, EPIC, PRD, HLS, VIS, INIT, SPIKE, ADR"

func TestIDs_Next(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)

	t.Run("S0-IDAPI-01 S0-NEXT-02", func(t *testing.T) {
		got := r.call("GET", "/ids/next?type=US&project=p", "")
		require.Equal(t, 200, got.status)
		require.JSONEq(t, `{"success":true,"artifact_type":"US","next_id":"US-001","last_assigned":null}`, got.text)
		require.Equal(t, "no-store", got.header.Get("Cache-Control"), "C-22")
		got = r.call("GET", "/ids/next?type=US&project_id=p", "")
		require.JSONEq(t, `{"success":true,"artifact_type":"US","next_id":"US-002","last_assigned":"US-001"}`, got.text)
	})
	t.Run("S0-IDAPI-02", func(t *testing.T) {
		for query, detail := range map[string]string{
			"type=X&project=p":                  "Invalid artifact_type: X. Valid types: " + validTypes,
			"type=us&project=p":                 "Invalid artifact_type: us. Valid types: " + validTypes,
			"type=US%27%3B--&project=p":         "Invalid artifact_type: US';--. Valid types: " + validTypes,
			"project=p":                         "Missing required parameter: type",
			"type=US":                           "Missing required parameter: project",
			"type=US&project=" + longer("x", 9): "Invalid project: must be 1 to 100 printable characters",
			"type=US&project=a&project_id=b":    "Invalid project: project and project_id differ",
		} {
			requireError(t, r.call("GET", "/ids/next?"+query, ""), 400, detail)
		}
	})
	t.Run("HEAD takes no number", func(t *testing.T) {
		require.Equal(t, 405, r.call("HEAD", "/ids/next?type=US&project=p", "").status)
		require.Equal(t, "US-003", r.call("GET", "/ids/next?type=US&project=p", "").body["next_id"])
	})
	t.Run("log", func(t *testing.T) {
		r.call("GET", "/ids/next?type=PRD&project=logged", "", "X-Task-Id", "abc-123")
		line := r.lines("id_allocated")
		last := line[len(line)-1]
		require.Equal(t, "id_management", last["service"])
		require.Equal(t, "abc-123", last["task_id"])
		require.Equal(t, "PRD", last["artifact_type"])
		require.Equal(t, "logged", last["project"])
		require.Equal(t, "PRD-001", last["next_id"])
		require.Contains(t, last, "duration_ms")
	})
}

// longer repeats text until it is 2^n times as long.
func longer(text string, n int) string {
	for range n {
		text += text
	}
	return text
}

func TestIDs_Reserve(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	reserve := func(body string, header ...string) reply { return r.call("POST", "/ids/reserve", body, header...) }
	require.Equal(t, 200, reserve(`{"type":"HLS","count":11,"project_id":"p"}`).status)

	t.Run("S0-RES-01 S0-IDAPI-03", func(t *testing.T) {
		got := reserve(`{"type":"HLS","count":3,"project_id":"p"}`, "X-Task-Id", "abc-123")
		require.Equal(t, 200, got.status, got.text)
		id := got.body["reservation_id"].(string)
		require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, id)
		require.JSONEq(t, `{"success":true,"reservation_id":"`+id+`","artifact_type":"HLS","reserved_ids":["HLS-012","HLS-013","HLS-014"],
			"expires_at":"2026-10-20T15:00:00.000Z"}`, got.text)
		lines := r.lines("ids_reserved")
		line := lines[len(lines)-1]
		require.Equal(t, "abc-123", line["task_id"])
		require.InDelta(t, 3, line["count"], 0)
		require.Equal(t, []any{"HLS-012", "HLS-013", "HLS-014"}, line["reserved_ids"])
		require.Equal(t, "2026-10-20T15:00:00.000Z", line["expires_at"])
		require.Equal(t, id, line["reservation_id"])
	})
	t.Run("both names, unknown members", func(t *testing.T) {
		require.Equal(t, 200, reserve(`{"type":"HLS","count":1,"project":"p","more":[1]}`).status)
	})
	t.Run("refused", func(t *testing.T) {
		const count = "Invalid count: must be between 1 and 100"
		for body, detail := range map[string]string{
			`{"type":"HLS","count":0,"project_id":"p"}`:               count,
			`{"type":"HLS","count":101,"project_id":"p"}`:             count,
			`{"type":"HLS","count":-1,"project_id":"p"}`:              count,
			`{"type":"HLS","count":1.5,"project_id":"p"}`:             count,
			`{"type":"HLS","count":"3","project_id":"p"}`:             count,
			`{"type":"HLS","count":9223372036854775808}`:              count,
			`{"type":"HLS","project_id":"p"}`:                         "Missing required parameter: count",
			`{"type":"HLS","count":3}`:                                "Missing required parameter: project_id",
			`{"count":3,"project_id":"p"}`:                            "Missing required parameter: type",
			`{"type":"XYZ","count":3,"project_id":"p"}`:               "Invalid artifact_type: XYZ. Valid types: " + validTypes,
			`{"type":7,"count":3,"project_id":"p"}`:                   "Invalid type: wrong type number",
			`{"type":"HLS","count":3,"project_id":"p\u0000q"}`:        "Invalid project_id: must be 1 to 100 printable characters",
			`{"type":"HLS","count":3,"project_id":"p","project":"q"}`: "Invalid project_id: project and project_id differ",
			`{"type":"HLS"`: "Malformed JSON: unexpected end of JSON input",
			`null`:          "Malformed JSON: the body must be an object",
		} {
			requireError(t, reserve(body), 400, detail)
		}
		require.Equal(t, "HLS-016", r.call("GET", "/ids/next?type=HLS&project=p", "").body["next_id"], "nothing was taken")
	})
	t.Run("1 and 100", func(t *testing.T) {
		require.Len(t, reserve(`{"type":"US","count":1,"project_id":"p"}`).body["reserved_ids"], 1)
		require.Len(t, reserve(`{"type":"US","count":100,"project_id":"p"}`).body["reserved_ids"], 100)
	})
}

func TestIDs_Confirm(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *services.Options) { o.Reservation = 7 * time.Minute })
	reserve := func() string {
		got := r.call("POST", "/ids/reserve", `{"type":"HLS","count":2,"project_id":"p"}`)
		require.Equal(t, "2026-10-20T14:52:00.000Z", got.body["expires_at"], "S0-IDAPI-08: the minutes are configured")
		return `{"reservation_id":"` + got.body["reservation_id"].(string) + `"}`
	}
	kept, lost := reserve(), reserve()

	r.pass(7*time.Minute - time.Millisecond)
	for range 2 { // S0-IDAPI-04: and again
		got := r.call("POST", "/ids/confirm", kept)
		require.Equal(t, 200, got.status, got.text)
		require.JSONEq(t, `{"success":true,"confirmed":true,`+kept[1:], got.text)
	}
	r.pass(time.Millisecond)
	requireError(t, r.call("POST", "/ids/confirm", lost), 404, "Reservation expired or not found")
	require.Equal(t, 200, r.call("POST", "/ids/confirm", kept).status)

	// S0-IDAPI-05
	requireError(t, r.call("POST", "/ids/confirm", `{"reservation_id":"0b3b1f5e-6d3c-4a7e-9f0a-2f1d3c4b5a69"}`), 404, "Reservation expired or not found")
	for _, bad := range []string{`"abc"`, `"{0b3b1f5e-6d3c-4a7e-9f0a-2f1d3c4b5a69}"`, `7`, `"urn:uuid:0b3b1f5e-6d3c-4a7e-9f0a-2f1d3c4b5a69"`, `"' OR 1=1 --"`} {
		requireError(t, r.call("POST", "/ids/confirm", `{"reservation_id":`+bad+`}`), 400, "Invalid reservation_id: must be a UUID")
	}
	requireError(t, r.call("POST", "/ids/confirm", `{}`), 400, "Missing required parameter: reservation_id")

	// S0-IDAPI-06, -07
	r.pass(time.Millisecond)
	require.JSONEq(t, `{"success":true,"deleted_count":1}`, r.call("DELETE", "/ids/reservations/expired", "").text)
	require.JSONEq(t, `{"success":true,"deleted_count":0}`, r.call("DELETE", "/ids/reservations/expired", "").text)
	require.Equal(t, "HLS-005", r.call("GET", "/ids/next?type=HLS&project=p", "").body["next_id"])
}

// TestIDs_S0_APPROVE_23 leaves a range unconfirmed, as an approval does that was
// rolled back: it expires, the cleanup deletes it, and later ranges are higher
// before as well as after (C-14, S0-IDAPI-07).
func TestIDs_S0_APPROVE_23(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	reserve := func() (id string, ids []any) {
		got := r.call("POST", "/ids/reserve", `{"type":"HLS","count":3,"project_id":"p"}`)
		require.Equal(t, 200, got.status, got.text)
		return got.body["reservation_id"].(string), got.body["reserved_ids"].([]any)
	}
	lost, ids := reserve()
	require.Equal(t, []any{"HLS-001", "HLS-002", "HLS-003"}, ids)
	r.pass(15 * time.Minute)
	kept, ids := reserve()
	require.Equal(t, []any{"HLS-004", "HLS-005", "HLS-006"}, ids)
	r.pass(time.Millisecond)
	require.JSONEq(t, `{"success":true,"deleted_count":1}`, r.call("DELETE", "/ids/reservations/expired", "").text)
	_, ids = reserve()
	require.Equal(t, []any{"HLS-007", "HLS-008", "HLS-009"}, ids)
	requireError(t, r.call("POST", "/ids/confirm", `{"reservation_id":"`+lost+`"}`), 404, "Reservation expired or not found")
	require.Equal(t, 200, r.call("POST", "/ids/confirm", `{"reservation_id":"`+kept+`"}`).status)
}

// TestIDs_S0_NEXT_05 has 50 callers take ids over HTTP.
func TestIDs_S0_NEXT_05(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	const callers = 50
	var mu sync.Mutex
	seen := map[string]int{}
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			if caller%2 == 0 {
				id := r.call("GET", "/ids/next?type=US&project=p", "").body["next_id"].(string)
				mu.Lock()
				defer mu.Unlock()
				seen[id]++
				return
			}
			got := r.call("POST", "/ids/reserve", `{"type":"US","count":3,"project_id":"p"}`)
			var body struct {
				IDs []string `json:"reserved_ids"`
			}
			if err := json.Unmarshal([]byte(got.text), &body); err != nil || got.status != 200 {
				t.Errorf("reserve: %s", got.text)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			for _, id := range body.IDs {
				seen[id]++
			}
		})
	}
	all.Wait()
	require.Len(t, seen, 100)
	for i := 1; i <= 100; i++ {
		require.Equal(t, 1, seen[fmt.Sprintf("US-%03d", i)])
	}
}
