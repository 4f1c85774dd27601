package coe

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/ledger"
)

// onDisk keeps tickets in a SQLite file, so that a lock is a real one.
func onDisk(t testing.TB) func(*Options) {
	dir := t.TempDir()
	return func(o *Options) { o.DataDir = dir }
}

func (r *rig) tickets() []ledger.Ticket {
	r.t.Helper()
	ts, err := r.srv.ledger.Tickets(context.WithoutCancel(r.t.Context()), ledger.TicketQuery{})
	require.NoError(r.t, err)
	return ts
}

func (r *rig) writes() float64 {
	n, ok := r.call("_test/inject", `{}`).ok()["writes"].(float64)
	require.True(r.t, ok)
	return n
}

func TestTicket_S1_TICKET_01(t *testing.T) {
	t.Parallel()
	for name, where := range map[string]func(*Options){"memory": func(*Options) {}, "sqlite": onDisk(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, where)
			got := r.call("createTicket", `{"title":"Test","description":"d","priority":2,"task_id":"TASK-001","type":"bug"}`).ok()
			require.Equal(t, true, got["success"])
			require.Equal(t, "TK-123", dig(t, got, "ticket", "id"), "the first one of S1")
			require.Equal(t, "Test", dig(t, got, "ticket", "title"))
			require.Equal(t, "open", dig(t, got, "ticket", "status"))
			requireTimestamp(t, dig(t, got, "ticket", "created_at"))
			require.Equal(t, "TK-124", dig(t, r.call("createTicket", `{"title":`+quoted(200)+`}`).ok(), "ticket", "id"))
			ts := r.tickets()
			require.Equal(t, "bug", ts[0].Type)
			require.Equal(t, "question", ts[1].Type)
			require.True(t, ts[1].Open)
		})
	}
}

func TestTicket_S1_TICKET_02_Invalid(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	e := r.call("createTicket", `{"description":"no title"}`).enveloped("INVALID_PARAM")
	require.Equal(t, map[string]any{"field": "title", "reason": "required"}, e["details"])
	require.Equal(t, false, e["retryable"])
	for args, field := range map[string]string{
		`{"title":""}`:                                      "title",
		`{"title":null}`:                                    "title",
		`{"title":` + quoted(201) + `}`:                     "title",
		`{"title":"x","priority":0}`:                        "priority",
		`{"title":"x","type":"wish"}`:                       "type",
		`{"title":"x","task_id":"a/b"}`:                     "task_id",
		`{"title":"x","status":"open"}`:                     "status",
		`{"title":"Robert'); DROP TABLE tickets;--","x":1}`: "x",
	} {
		r.call("createTicket", args).field(field)
	}
	require.Empty(t, r.tickets())
}

func TestTicket_SQLStaysText(t *testing.T) {
	t.Parallel()
	r := newRig(t, onDisk(t))
	const title = `Robert'); DROP TABLE tickets;--`
	r.call("createTicket", fmt.Sprintf(`{"title":%q,"task_id":"' OR 1=1 --","type":"investigation"}`, title)).ok()
	r.call("createTicket", `{"title":"other","task_id":"TASK-001","type":"investigation"}`).ok()
	require.Equal(t, title, r.tickets()[0].Title)
	got := r.call("reportTaskStatus", `{"task_id":"TASK-001","status":"done"}`).ok()
	require.Equal(t, 1.0, dig(t, got, "cascaded", "ticketsResolved"))
}

// Another connection holds the lock for three attempts.
func TestTicket_S1_TICKET_03_Busy(t *testing.T) {
	t.Parallel()
	r := newRig(t, onDisk(t))
	before := r.writes()
	r.call("_test/inject", `{"tool":"createTicket","kind":"db_locked","times":3}`).ok()
	got := r.call("createTicket", `{"title":"Test"}`).ok()
	require.Equal(t, true, got["success"])
	require.Equal(t, "TK-123", dig(t, got, "ticket", "id"))
	require.Equal(t, 4.0, r.writes()-before, "3 failures and 1 success")
	require.Len(t, r.tickets(), 1)
}

func TestTicket_S1_TICKET_04_BusyForEver(t *testing.T) {
	t.Parallel()
	for name, where := range map[string]func(*Options){"memory": func(*Options) {}, "sqlite": onDisk(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, where)
			r.call("_test/inject", `{"tool":"createTicket","kind":"db_locked","times":0}`).ok()
			before := r.writes()
			e := r.call("createTicket", `{"title":"Test"}`).enveloped("DB_LOCKED")
			require.Equal(t, true, e["retryable"])
			require.Equal(t, 2.0, e["retry_after_seconds"])
			require.Equal(t, 6.0, r.writes()-before, "the first attempt and 5 retries")
			require.Empty(t, r.tickets())
			r.call("_test/inject", `{"clear":true}`).ok()
			r.call("createTicket", `{"title":"Test"}`).ok()
			require.Len(t, r.tickets(), 1)
		})
	}
}

// A lock held by another program, with no fault injected at all.
func TestTicket_S1_TICKET_04_AnotherProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := newRig(t, func(o *Options) { o.DataDir = dir })
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(filepath.Join(dir, "coe.db")))
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	db.SetMaxOpenConns(1)
	require.Equal(t, "TASK-001", r.nextID())
	_, err = db.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	r.call("createTicket", `{"title":"Test"}`).enveloped("DB_LOCKED")
	r.call("reportTaskStatus", `{"task_id":"TASK-001","status":"done"}`).enveloped("DB_LOCKED")
	data := r.call("reportTaskDone", `{"taskId":"TASK-001","status":"done"}`).number(503, "Service Unavailable")
	require.Equal(t, 2, data["retry_after_seconds"])
	require.Equal(t, "TASK-001", r.nextID(), "what was handed out is read without the lock")
	r.agent = "other"
	r.call("getNextTask", `{}`).number(503, "Service Unavailable") // nobody knows whether it is still free

	_, err = db.ExecContext(t.Context(), "COMMIT")
	require.NoError(t, err)
	r.call("createTicket", `{"title":"Test"}`).ok()
}

// A lock that another program keeps holds up neither who changes the plan nor
// who comes later: each caller gives up after its own waits.
func TestTicket_S1_TICKET_04_ManyCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(o *Options) { o.RetryBackoff = time.Second })
		r.call("_test/inject", `{"tool":"*","kind":"db_locked","times":0}`).ok()
		begin := time.Now()
		var callers sync.WaitGroup
		for range 4 {
			callers.Go(func() { r.call("createTicket", `{"title":"Test"}`).enveloped("DB_LOCKED") })
			callers.Go(func() { r.call("reportTaskDone", `{"taskId":"TASK-001","status":"done"}`).number(503, "") })
			callers.Go(func() {
				r.call("reportTaskStatus", `{"task_id":"TASK-002","status":"done"}`).enveloped("DB_LOCKED")
			})
		}
		callers.Wait()
		require.Equal(t, 31*time.Second, time.Since(begin))
		require.Zero(t, r.srv.plan.View().Counts().Completed)
	})
}

func TestTicket_S1_TICKET_05_DatabaseDown(t *testing.T) {
	t.Parallel()
	for name, where := range map[string]func(*Options){"memory": func(*Options) {}, "sqlite": onDisk(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, where)
			r.call("_test/inject", `{"tool":"createTicket","kind":"db_down","times":0}`).ok()
			for range 2 { // a client that tries again leaves one ticket
				e := r.call("createTicket", `{"title":"Kept"}`).enveloped("RESOURCE_NOT_FOUND")
				require.Equal(t, true, e["retryable"])
				require.Equal(t, true, e["fallback_suggested"])
				require.Equal(t, "memory", dig(t, e, "details", "stored"))
				require.Contains(t, e["message"], "The ticket is kept in memory")
			}
			require.Contains(t, r.logs.String(), "ticket_kept_in_memory")
			require.Empty(t, r.tickets())
			r.call("_test/inject", `{"clear":true}`).ok()
			require.Equal(t, "TK-123", dig(t, r.call("createTicket", `{"title":"Kept"}`).ok(), "ticket", "id"), "the repeated request gets it")
			require.Equal(t, "TK-124", dig(t, r.call("createTicket", `{"title":"Kept"}`).ok(), "ticket", "id"), "and the next one is new")
			require.Len(t, r.tickets(), 2)
		})
	}
}

func TestTicket_S1_TICKET_05_WrittenInTheBackground(t *testing.T) {
	t.Parallel()
	r := newRig(t, onDisk(t))
	r.call("_test/inject", `{"tool":"createTicket","kind":"db_down"}`).ok()
	r.call("createTicket", `{"title":"Kept"}`).enveloped("RESOURCE_NOT_FOUND")
	require.Eventually(t, func() bool { return len(r.tickets()) == 1 }, 10*time.Second, time.Millisecond, "no call is needed for it")
}

// The file is really gone: its folder has become a file.
func TestTicket_S1_TICKET_05_FolderGone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	r := newRig(t, func(o *Options) { o.DataDir = dir })
	r.call("createTicket", `{"title":"First"}`).ok()
	r.call("_test/inject", `{"tool":"reportIssue","kind":"db_down"}`).ok()
	r.call("reportIssue", `{"issue_description":"x","severity":3}`).enveloped("RESOURCE_NOT_FOUND") // the connection is closed
	require.NoError(t, os.Rename(dir, dir+".away"))
	require.NoError(t, os.WriteFile(dir, nil, 0o600))
	r.call("createTicket", `{"title":"Kept"}`).enveloped("RESOURCE_NOT_FOUND")
	r.call("reportIssue", `{"issue_description":"x","severity":1}`).enveloped("RESOURCE_NOT_FOUND")
	r.call("reportTestFailure", fmt.Sprintf(failureArgs, "flaky", true, "")).number(503, "")
	r.call("reportObservation", `{"observation":"lost?"}`).enveloped("RESOURCE_NOT_FOUND") // not written, so not acknowledged
	require.NoError(t, os.Remove(dir))
	require.NoError(t, os.Rename(dir+".away", dir))
	require.Equal(t, "TK-124", dig(t, r.call("createTicket", `{"title":"Kept"}`).ok(), "ticket", "id"))
	require.Equal(t, "TASK-001", r.nextID(), "no investigation without its record")
	require.Equal(t, "OBS-001", r.call("reportObservation", `{"observation":"again"}`).ok()["observation_id"])
}

func TestTicket_S1_TICKET_06_Parallel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// Two servers on one file, as two programs would be.
	shared := func(o *Options) { o.DataDir, o.RetryBackoff = dir, 5*time.Millisecond }
	rigs := []*rig{newRig(t, shared), newRig(t, shared)}
	var mu sync.Mutex
	ids := map[any]bool{}
	var wg sync.WaitGroup
	for i := range 20 {
		r := rigs[i%2]
		wg.Go(func() {
			for {
				p := r.call("createTicket", fmt.Sprintf(`{"title":"number %d"}`, i))
				if p.isError { // locked by the other server for longer than it waits
					continue
				}
				mu.Lock()
				defer mu.Unlock()
				ids[dig(t, p.payload, "ticket", "id")] = true
				return
			}
		})
	}
	wg.Wait()
	require.Len(t, ids, 20)
	require.Len(t, rigs[0].tickets(), 20)
}

func TestStatus_S1_STAT_01(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const none = `"cascaded":{"ticketsResolved":0,"tasksUnblocked":0}}`
	for args, action := range map[string]string{
		`{"task_id":"TASK-001","status":"in_progress","progress_percent":0,"details":` + quoted(600) + `,"priority":1,"metrics":{"tokens_used":5,"time_seconds":1800,"coverage_added":-0.5}}`: `"continue"`,
		`{"task_id":"TASK-001","progress_percent":100}`: `"continue"`,
		`{"task_id":"TASK-002","status":"blocked"}`:     `"create_ticket"`,
		`{"task_id":"TASK-003","status":"failed"}`:      `"report_issue"`,
		`{"task_id":"TASK-004","status":"paused"}`:      `"resume_later"`,
	} {
		require.Equal(t, `{"acknowledged":true,"next_action":`+action+`,`+none, r.call("reportTaskStatus", args).text)
	}
	task := dig(t, r.next(`{"filter":"all","priority":"high"}`), "task")
	require.Equal(t, "TASK-001", dig(t, task, "taskId"))
	require.Equal(t, "in-progress", dig(t, task, "status"))
	require.Equal(t, 0.5, dig(t, task, "actualHours"))
	require.Equal(t, "pending", string(r.srv.plan.View().Status(r.srv.plan.View().Task("TASK-004"))))
}

func investigated(t *testing.T, where func(*Options)) *rig {
	t.Helper()
	r := newRig(t, where)
	r.call("createTicket", `{"title":"Why is it slow?","type":"investigation","task_id":"TASK-004"}`).ok()
	r.call("createTicket", `{"title":"Another task's","type":"investigation","task_id":"TASK-005"}`).ok()
	r.call("createTicket", `{"title":"No investigation","type":"question","task_id":"TASK-004"}`).ok()
	return r
}

func TestStatus_S1_STAT_02_Cascade(t *testing.T) {
	t.Parallel()
	for name, where := range map[string]func(*Options){"memory": func(*Options) {}, "sqlite": onDisk(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := investigated(t, where)
			require.Equal(t, `{"acknowledged":true,"next_action":"continue","cascaded":{"ticketsResolved":1,"tasksUnblocked":1}}`,
				r.call("reportTaskStatus", `{"task_id":"TASK-004","status":"done"}`).text)
			ts := r.tickets()
			require.Equal(t, []bool{false, true, true}, []bool{ts[0].Open, ts[1].Open, ts[2].Open})
			require.Equal(t, "TASK-034", r.nextID())
		})
	}
}

func TestStatus_S1_STAT_03_Refused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for args, field := range map[string]string{
		`{}`: "task_id",
		`{"task_id":"TASK-001","status":"invalid_value"}`:       "status",
		`{"task_id":"TASK-001","status":"in-progress"}`:         "status", // C-33
		`{"task_id":"TASK-001","progress_percent":101}`:         "progress_percent",
		`{"task_id":"TASK-001","progress_percent":-1}`:          "progress_percent",
		`{"task_id":"TASK-001","progress_percent":0.5}`:         "progress_percent",
		`{"task_id":"TASK-001","details":` + quoted(601) + `}`:  "details",
		`{"task_id":"TASK-001","metrics":{"tokens_used":-1}}`:   "metrics.tokens_used",
		`{"task_id":"TASK-001","metrics":{"time_seconds":"1"}}`: "metrics.time_seconds",
		`{"task_id":"TASK-001","metrics":{"unknown":1}}`:        "metrics.unknown",
		`{"task_id":"TASK-001","priority":4}`:                   "priority",
	} {
		p := r.call("reportTaskStatus", args)
		p.field(field)
		require.Equal(t, false, dig(t, p.payload, "error", "retryable"))
	}
}

func TestStatus_S1_STAT_04_Unknown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, status := range []string{"in_progress", "blocked", "done", "failed", "paused"} {
		p := r.call("reportTaskStatus", `{"task_id":"TASK-999","status":"`+status+`"}`)
		require.Equal(t, false, p.enveloped("RESOURCE_NOT_FOUND")["retryable"])
		require.Equal(t, "TASK-999", dig(t, p.payload, "context", "task_id"))
	}
	r.call("reportTaskStatus", `{"task_id":"TASK-999"}`).enveloped("RESOURCE_NOT_FOUND")
}

func TestStatus_S1_STAT_05_06_CascadedFailure(t *testing.T) {
	t.Parallel()
	for name, where := range map[string]func(*Options){"memory": func(*Options) {}, "sqlite": onDisk(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := investigated(t, where)
			r.call("_test/inject", `{"tool":"reportTaskStatus","kind":"unblock"}`).ok()
			const args = `{"task_id":"TASK-004","status":"done","progress_percent":99}`
			p := r.call("reportTaskStatus", args)
			p.enveloped("INTERNAL_ERROR")
			require.Equal(t, map[string]any{"ticketsResolved": 0.0, "tasksUnblocked": 0.0}, p.payload["cascaded"])
			require.True(t, r.tickets()[0].Open, "the ticket is open again")
			v := r.srv.plan.View()
			require.Equal(t, "ready", string(v.Status(v.Task("TASK-004"))))
			require.Zero(t, v.Task("TASK-004").Progress)
			require.Zero(t, v.Counts().VerificationPending)
			got := r.call("reportTaskStatus", args).ok()
			require.Equal(t, map[string]any{"ticketsResolved": 1.0, "tasksUnblocked": 1.0}, got["cascaded"], "S1-STAT-06")
		})
	}
}
