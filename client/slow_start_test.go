package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// starter is a slow server. Over a pipe it reads nothing before it has started; then,
// and over HTTP, each method has its own answer after its own time, or none. It handles
// requests concurrently.
type starter struct {
	starts  time.Duration
	ends    bool // instead of reading anything
	answers map[string]late

	mu  sync.Mutex
	got []string
}

// late is an answer: a status over HTTP, and the members of the response beside the
// id, none for no body.
type late struct {
	after  time.Duration
	status int
	body   string
}

func (s *starter) note(method string) late {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, method)
	return s.answers[method]
}

func (s *starter) methods() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.got...)
}

// starters is a transport of programs that are such servers, each of them said by n.
type starters struct {
	t     *testing.T
	named string
	say   func(n int) *starter

	mu   sync.Mutex
	runs []*starter
}

func (p *starters) String() string { return "program" }

func (p *starters) Identity() string { return p.t.Name() + p.named }

func (p *starters) Connect(ctx context.Context, h transport.Handler) (transport.Conn, error) {
	in, out, over := newPipe(), newPipe(), make(chan struct{})
	s := p.say(len(p.runs))
	p.mu.Lock()
	p.runs = append(p.runs, s)
	p.mu.Unlock()
	l := &lineServer{in: in, out: out, ended: make(chan struct{}), over: over}
	go s.serve(l)
	conn, err := (&transport.Stream{In: out, Out: in}).Connect(ctx, h)
	return lineProgram{conn, l}, err
}

func (s *starter) serve(l *lineServer) {
	defer close(l.over)
	var answering sync.WaitGroup
	defer answering.Wait()
	select {
	case <-time.After(s.starts):
	case <-l.ended:
		return
	}
	if s.ends {
		l.end()
		return
	}
	for lines := bufio.NewScanner(l.in); lines.Scan(); {
		var req struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(lines.Bytes(), &req) != nil || req.ID == nil {
			continue
		}
		if a := s.note(req.Method); a.body != "" {
			write := func() { fmt.Fprintf(l.out, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", req.ID, a.body) }
			if a.after == 0 { // in order
				write()
				continue
			}
			answering.Go(func() {
				select {
				case <-time.After(a.after):
					write()
				case <-l.ended:
				}
			})
		}
	}
}

func (s *starter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req struct {
		ID     json.RawMessage
		Method string
	}
	raw, _ := io.ReadAll(r.Body)
	if r.Method != http.MethodPost || json.Unmarshal(raw, &req) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	a := s.note(req.Method)
	if req.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if _, known := s.answers[req.Method]; !known {
		<-r.Context().Done()
		return
	}
	select {
	case <-time.After(a.after):
	case <-r.Context().Done():
		return
	}
	if a.body == "" {
		w.WriteHeader(a.status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(max(a.status, http.StatusOK))
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, req.ID, a.body)
}

const (
	saysStateless = `"result":` + discoverResult
	saysSession   = `"result":` + initResult
	saysUnknown   = `"error":{"code":-32601,"message":"Method not found"}`
	saysGone      = `"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}`
)

// A program that starts slowly is started once, whatever it speaks, and never ended
// for being slow to the probe. Silence is never remembered.
func TestSlowProgramIsStartedOnce(t *testing.T) {
	t.Parallel()
	type want struct {
		era      mcp.Era
		evidence string
		took     time.Duration
		starts   int
		again    []string // what the next connection begins with
	}
	both := []string{"server/discover", "initialize"}
	for name, tt := range map[string]struct {
		first, later *starter
		want         want
	}{
		"stateless, 12 s": {
			&starter{starts: 12 * time.Second, answers: map[string]late{"server/discover": {body: saysStateless}, "initialize": {body: saysGone}}}, nil,
			want{mcp.EraStateless, "discovered", 12 * time.Second, 1, both[:1]},
		},
		"both eras, 12 s": {
			&starter{starts: 12 * time.Second, answers: map[string]late{"server/discover": {body: saysStateless}, "initialize": {body: saysSession}}}, nil,
			want{mcp.EraStateless, "discovered", 12 * time.Second, 1, both[:1]},
		},
		"stateless, initialize is refused first": {
			&starter{starts: 12 * time.Second, answers: map[string]late{"server/discover": {after: time.Second, body: saysStateless}, "initialize": {body: saysGone}}}, nil,
			want{mcp.EraStateless, "discovered", 13 * time.Second, 1, both[:1]},
		},
		"session, 53 s": {
			&starter{starts: 53 * time.Second, answers: map[string]late{"server/discover": {body: saysUnknown}, "initialize": {body: saysSession}}}, nil,
			want{mcp.EraSession, "method-not-found", 53 * time.Second, 1, both[1:]},
		},
		"session that leaves the probe unanswered": {
			&starter{answers: map[string]late{"initialize": {body: saysSession}}}, nil,
			want{mcp.EraSession, "silence", 10*time.Second + 100*time.Millisecond, 1, both},
		},
		"session, the late answer to the probe comes too late": {
			&starter{starts: 12 * time.Second, answers: map[string]late{"server/discover": {after: time.Second, body: saysStateless}, "initialize": {body: saysSession}}}, nil,
			want{mcp.EraSession, "silence", 12*time.Second + 100*time.Millisecond, 1, both[:1]},
		},
		"the probe ends it": {
			&starter{starts: 12 * time.Second, ends: true}, &starter{starts: 12 * time.Second, answers: map[string]late{"initialize": {body: saysSession}}},
			want{mcp.EraSession, "ended", 24 * time.Second, 2, both[1:]},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &starters{t: t, say: func(n int) *starter {
					s := tt.first
					if n > 0 && tt.want.starts > 1 {
						s = tt.later
					}
					return &starter{starts: s.starts, ends: s.ends, answers: s.answers}
				}}
				eras := client.MemoryEraStore()
				connect := func() *client.Client {
					c, err := find(t, p, client.WithEraStore(eras))
					require.NoError(t, err)
					return c
				}
				began := time.Now()
				c := connect()
				require.Equal(t, tt.want.took, time.Since(began))
				require.Len(t, p.runs, tt.want.starts)
				require.Equal(t, []any{tt.want.era, tt.want.evidence}, []any{c.Negotiated().Era, c.Negotiated().Evidence}, c.Negotiated())
				require.NoError(t, c.Close())
				c = connect()
				require.Equal(t, tt.want.again, p.runs[len(p.runs)-1].methods()[:len(tt.want.again)])
				require.Equal(t, tt.want.again[0] == "initialize" || c.Negotiated().Era == mcp.EraStateless && tt.want.era == mcp.EraStateless, c.Negotiated().Remembered)
				require.NoError(t, c.Close())
			})
		})
	}
}

// What writes nothing in the time of a start is started once more, with initialize
// first, and within the caller's deadline. The error names what set the bound.
func TestProgramThatNeverStarts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		start, deadline, took time.Duration
		names                 string
		starts                int
	}{
		"by default":     {took: 6 * time.Minute, names: "Restart.StartTimeout", starts: 2},
		"by the option":  {start: 3 * time.Minute, took: 6 * time.Minute, names: "Restart.StartTimeout", starts: 2},
		"by the context": {deadline: 90 * time.Second, took: 90 * time.Second, names: "the deadline of the context", starts: 2},
		"at once":        {deadline: 30 * time.Second, took: 30 * time.Second, names: "the deadline of the context", starts: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &starters{t: t, say: func(int) *starter { return &starter{starts: time.Hour} }}
				ctx, cancel := context.WithCancel(t.Context())
				if tt.deadline > 0 {
					ctx, cancel = context.WithTimeout(t.Context(), tt.deadline)
				}
				defer cancel()
				began := time.Now()
				_, err := client.Connect(ctx, p, client.WithProtocolVersion(client.AutoVersion), client.WithEraStore(nil),
					client.WithResilience(client.Resilience{Off: true, Restart: client.Restart{StartTimeout: tt.start}}))
				require.Equal(t, mcperrors.CodeTimeout, mcperrors.CodeOf(err), err)
				require.ErrorContains(t, err, tt.names)
				require.Equal(t, tt.took, time.Since(began))
				require.Len(t, p.runs, tt.starts)
			})
		})
	}
}

// A second start that answers soon proves that the probe made the first one deaf: the
// next connection begins with initialize. A late answer proves nothing.
func TestDeafProgramIsStartedAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		second     time.Duration
		evidence   string
		remembered bool
	}{
		"deaf":     {0, "deaf", true},
		"starting": {2 * time.Minute, "silence", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &starters{t: t, say: func(n int) *starter {
					if n == 0 {
						return &starter{starts: time.Hour}
					}
					return &starter{starts: tt.second, answers: map[string]late{"initialize": {body: saysSession}}}
				}}
				eras := client.MemoryEraStore()
				began := time.Now()
				c, err := find(t, p, client.WithEraStore(eras))
				require.NoError(t, err)
				require.Equal(t, time.Minute+tt.second, time.Since(began))
				require.Len(t, p.runs, 2)
				require.Equal(t, "initialize", p.runs[1].methods()[0])
				require.Equal(t, []any{tt.evidence, true}, []any{c.Negotiated().Evidence, c.Negotiated().Restarted})
				require.NoError(t, c.Close())
				_, known := eras.Load(p.Identity())
				require.Equal(t, tt.remembered, known)
			})
		})
	}
}

// Where nothing is probed there is nothing to start a mute program again for: it has the
// time of a second start at once, whether its era is pinned or remembered.
func TestMuteProgramOfAKnownEraIsStartedOnce(t *testing.T) {
	t.Parallel()
	answers := map[string]late{"server/discover": {body: saysStateless}, "initialize": {body: saysSession}}
	for name, tt := range map[string]struct {
		version mcp.Version
		begins  string
	}{
		"session":   {mcp.LatestSession, "initialize"},
		"stateless": {mcp.Latest, "server/discover"},
	} {
		for from, opts := range map[string][]client.Option{
			"pinned":     {client.WithProtocolVersion(string(tt.version))},
			"remembered": nil,
		} {
			for _, starts := range []time.Duration{4 * time.Minute, time.Hour} {
				t.Run(fmt.Sprintf("%s/%s/%s", name, from, starts), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						p := &starters{t: t, say: func(int) *starter { return &starter{starts: starts, answers: answers} }}
						eras := client.MemoryEraStore()
						if from == "remembered" {
							require.NoError(t, eras.Save(p.Identity(), client.Era{Version: tt.version, At: time.Now()}))
						}
						began := time.Now()
						c, err := find(t, p, append(opts, client.WithEraStore(eras), client.WithResilience(client.Resilience{Off: true}))...)
						require.Len(t, p.runs, 1)
						if starts == time.Hour {
							require.Equal(t, mcperrors.CodeTimeout, mcperrors.CodeOf(err), err)
							require.ErrorContains(t, err, "Restart.StartTimeout")
							require.Equal(t, 5*time.Minute, time.Since(began))
							return
						}
						require.NoError(t, err)
						require.Equal(t, starts, time.Since(began))
						require.Equal(t, tt.begins, p.runs[0].methods()[0])
						require.NoError(t, c.Close())
					})
				})
			}
		}
	}
}

// A program that exits without reading the probe did not exit because of it, and is
// started once. One that has read it may have, and is started again.
func TestProgramThatExitsDuringTheProbe(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	for name, tt := range map[string]struct {
		program string
		starts  int
		works   bool
	}{
		"without reading": {"echo start >>starts; exit 3", 1, false},
		"after reading": {`echo start >>starts; read line; case $line in *initialize*) ;; *) exit 3;; esac
			id=$(printf %s "$line" | sed 's/.*"id":\([^,}]*\).*/\1/')
			printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" '` + saysSession + `'; cat >/dev/null`, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS != "linux" && tt.starts == 1 {
				tt.starts = 2 // no other system tells what was read
			}
			dir := t.TempDir()
			c, err := find(t, &transport.Command{Argv: []string{"sh", "-c", tt.program}, Dir: dir})
			if tt.works {
				require.NoError(t, err)
				require.NoError(t, c.Close())
			} else {
				require.ErrorContains(t, err, "the server stopped before it answered")
			}
			starts, err := os.ReadFile(filepath.Join(dir, "starts"))
			require.NoError(t, err)
			require.Equal(t, tt.starts, strings.Count(string(starts), "start"))
		})
	}
}

// A probe that a URL does not answer costs two seconds. Then the first real answer
// wins, and an outage is none.
func TestMuteProbeOverHTTP(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answers map[string]late
		want    mcp.Era
		kind    mcperrors.Kind // of the error, where there is one
		took    time.Duration
	}{
		"mute to the probe": {
			map[string]late{"initialize": {body: saysSession}}, mcp.EraSession, 0, 2 * time.Second,
		},
		"late to the probe": {
			map[string]late{"server/discover": {after: 3 * time.Second, body: saysStateless}}, mcp.EraStateless, 0, 3 * time.Second,
		},
		"late to both": {
			map[string]late{"server/discover": {after: 9 * time.Second, body: saysUnknown}, "initialize": {after: 9 * time.Second, body: saysSession}},
			mcp.EraSession, 0, 11 * time.Second,
		},
		"late to the probe, initialize is refused": {
			map[string]late{"server/discover": {after: 3 * time.Second, body: saysStateless}, "initialize": {status: 400, body: saysUnknown}}, mcp.EraStateless, 0, 3 * time.Second,
		},
		"late to the probe, initialize meets an outage": {
			map[string]late{"server/discover": {after: 3 * time.Second, body: saysStateless}, "initialize": {status: 503}}, mcp.EraStateless, 0, 3 * time.Second,
		},
		"the probe meets a late outage": {
			map[string]late{"server/discover": {after: 3 * time.Second, status: 503}, "initialize": {after: 4 * time.Second, body: saysSession}},
			mcp.EraSession, 0, 6 * time.Second,
		},
		"both meet an outage": {
			map[string]late{"server/discover": {after: 3 * time.Second, status: 503}, "initialize": {status: 503}}, 0, mcperrors.KindServer, 3 * time.Second,
		},
		"mute to both": {map[string]late{}, 0, mcperrors.KindTimeout, 62 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &starter{answers: tt.answers}
				mem := memhttp.New(s)
				defer mem.Close()
				eras := client.MemoryEraStore()
				tr := &transport.HTTP{URL: memhttp.URL, RoundTripper: mem.Transport()}
				began := time.Now()
				c, err := find(t, tr, client.WithEraStore(eras))
				require.Equal(t, tt.took, time.Since(began))
				if tt.kind != 0 {
					require.Equal(t, tt.kind, mcperrors.KindOf(err), err)
				} else {
					require.NoError(t, err)
					require.Equal(t, tt.want, c.Negotiated().Era, c.Negotiated())
					require.NoError(t, c.Close())
				}
				_, remembered := eras.Load(tr.Identity())
				answered := tt.want == mcp.EraStateless || tt.answers["server/discover"].body == saysUnknown
				require.Equal(t, answered, remembered, "silence and outages are not remembered")
			})
		})
	}
}

// A server without sessions may not answer the probe for long, and at once refuse the
// initialize that is sent beside it. Then the client waits for the probe as long as for
// any request. If there is still no answer, it probes once more, for 10 s, because the
// server may have lost the first probe.
func TestMuteProbeOfAServerWithoutSessions(t *testing.T) {
	t.Parallel()
	refusals := map[string]late{
		"method not found":                     {status: 404, body: saysUnknown},
		"stateless only":                       {status: 400, body: saysGone},
		"by a status":                          {status: 400},
		"in a result's place, with status 200": {body: `"error":{"code":-32602,"message":"_meta is missing"}`},
	}
	for name, tt := range map[string]struct {
		discover late // its body is empty: none
		bound    time.Duration
		took     time.Duration
		asked    int
		fails    bool
	}{
		"15 s":               {discover: late{after: 15 * time.Second, body: saysStateless}, took: 15 * time.Second, asked: 1},
		"50 s":               {discover: late{after: 50 * time.Second, body: saysStateless}, took: 50 * time.Second, asked: 1},
		"always":             {discover: late{after: time.Hour, body: saysStateless}, took: 70 * time.Second, asked: 2, fails: true},
		"longer than a dial": {discover: late{after: time.Hour, body: saysStateless}, bound: 30 * time.Second, took: 30 * time.Second, asked: 1, fails: true},
	} {
		for _, over := range []string{"http", "stdio"} {
			for said, refusal := range refusals {
				if over == "stdio" && refusal.body == "" {
					continue
				}
				took, asked := tt.took, tt.asked
				if asked > 1 && refusal.body == "" { // it may be a server of HTTP+SSE
					took, asked = time.Minute, 1
				}
				t.Run(name+", "+over+", "+said, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						s := &starter{answers: map[string]late{"server/discover": tt.discover, "initialize": refusal}}
						var tr transport.Transport = &starters{t: t, say: func(int) *starter { return s }}
						if over == "http" {
							mem := memhttp.New(s)
							defer mem.Close()
							tr = &transport.HTTP{URL: memhttp.URL, RoundTripper: mem.Transport()}
						}
						ctx, cancel := context.WithCancel(t.Context())
						if tt.bound > 0 {
							ctx, cancel = context.WithTimeout(t.Context(), tt.bound)
						}
						defer cancel()
						began := time.Now()
						c, err := client.Connect(ctx, tr, client.WithProtocolVersion(client.AutoVersion), client.WithEraStore(nil), client.WithCache(client.CacheConfig{NoPreload: true}), client.WithRequiredCapabilities())
						require.Equal(t, took, time.Since(began), "%v", err)
						probes := slices.DeleteFunc(s.methods(), func(m string) bool { return m != "server/discover" })
						require.Len(t, probes, asked)
						if tt.fails {
							require.ErrorContains(t, err, "server/discover 2026-07-28 → no answer")
							require.ErrorContains(t, err, "initialize 2025-11-25 → ")
							return
						}
						require.NoError(t, err)
						require.Equal(t, mcp.EraStateless, c.Negotiated().Era)
						require.NoError(t, c.Close())
					})
				})
			}
		}
	}
}

// An outage that the probe meets late says nothing: it is asked once more.
func TestMuteProbeThatMeetsAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		mem := memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var req struct {
				ID     json.RawMessage
				Method string
			}
			raw, _ := io.ReadAll(r.Body)
			_ = json.Unmarshal(raw, &req)
			w.Header().Set("Content-Type", "application/json")
			switch {
			case req.Method == "initialize":
				w.WriteHeader(http.StatusNotFound)
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, req.ID, saysUnknown)
			case req.Method == "server/discover":
				if asked++; asked > 1 {
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, req.ID, saysStateless)
					return
				}
				time.Sleep(15 * time.Second)
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}))
		defer mem.Close()
		began := time.Now()
		c, err := find(t, &transport.HTTP{URL: memhttp.URL, RoundTripper: mem.Transport()})
		require.NoError(t, err)
		require.Equal(t, 15*time.Second, time.Since(began))
		require.Equal(t, mcp.EraStateless, c.Negotiated().Era)
		require.Equal(t, 2, asked)
		require.NoError(t, c.Close())
	})
}

// A server of sessions that is mute to the probe and refuses a revision, naming
// those it speaks, is offered one of them as soon as before.
func TestMuteProbeOfAServerOfOldSessions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem := memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var req struct {
				ID     json.RawMessage
				Method string
				Params struct{ ProtocolVersion string }
			}
			raw, _ := io.ReadAll(r.Body)
			_ = json.Unmarshal(raw, &req)
			w.Header().Set("Content-Type", "application/json")
			switch {
			case req.Method == "server/discover":
				<-r.Context().Done()
			case req.Method != "initialize":
				w.WriteHeader(http.StatusAccepted)
			case req.Params.ProtocolVersion != "2024-11-05":
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no","data":{"supported":["2024-11-05"]}}}`, req.ID)
			default:
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`, req.ID)
			}
		}))
		defer mem.Close()
		began := time.Now()
		c, err := client.Connect(t.Context(), &transport.HTTP{URL: memhttp.URL, RoundTripper: mem.Transport()},
			client.WithProtocolVersion(client.AutoVersion), client.WithEraStore(nil), client.WithCache(client.CacheConfig{NoPreload: true}), client.WithRequiredCapabilities())
		require.NoError(t, err)
		require.Equal(t, 10*time.Second, time.Since(began))
		require.Equal(t, mcp.Version("2024-11-05"), c.ProtocolVersion())
		require.NoError(t, c.Close())
	})
}
