package client_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/internal/txtar"
)

var updateConversations = flag.Bool("update", false, "write what was said into the files of testdata/conversations")

// TestConversations plays the files of testdata/conversations. The first
// lines of each describe it. These sections follow:
//
//	client  the application's steps, one a line (conversation_steps_test.go)
//	server  what the server does, by method (conversation_server_test.go)
//	pipe    the messages over a pipe, as on stdio
//	http    the same over HTTP
//
// A conversation is played over the transports it has a section for, in virtual
// time. In those sections a step begins at the margin, and its effects are
// indented:
//
//	> what the client sends, over HTTP with the headers of the protocol
//	< what the server sends, over HTTP with the status
//	* what the application learns meanwhile
//	= what the step returns
//
// Ids are c1, c2 … in order. The stamp that every request of the stateless era
// carries is written in full once, and as … from then on. The messages are also checked
// against the official schemas. To write a new file, leave pipe and http empty and
// run with -update; then read the result.
func TestConversations(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "conversations", "*.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			sections := map[string]*txtar.File{}
			for i, f := range archive.Files {
				require.Contains(t, []string{"client", "server", "pipe", "http"}, f.Name)
				sections[f.Name] = &archive.Files[i]
			}
			require.NotEmpty(t, strings.TrimSpace(string(archive.Comment)), "a conversation needs a description")
			require.NotNil(t, sections["client"])
			changed, used := false, map[string]bool{}
			for _, over := range []string{"pipe", "http"} {
				section := sections[over]
				if section == nil {
					continue
				}
				said := converse(t, over, sections, used)
				if *updateConversations {
					changed = changed || said != string(section.Data)
					section.Data = []byte(said)
					continue
				}
				require.Equal(t, string(section.Data), said, "over %s; if it is meant, run with -update", over)
			}
			if s := sections["server"]; s != nil {
				for _, line := range lineList(s.Data) {
					method, _, _ := strings.Cut(line, " ")
					require.True(t, method == "" || method == "posts" || used[method], "the client never sends %s", method)
				}
			}
			if changed {
				require.NoError(t, os.WriteFile(file, txtar.Format(archive), 0o600))
			}
		})
	}
}

// converse plays a conversation and returns its messages; used gets the methods that
// were sent.
func converse(t *testing.T, over string, sections map[string]*txtar.File, used map[string]bool) string {
	t.Helper()
	var said string
	synctest.Test(t, func(t *testing.T) {
		k := &talk{t: t, wire: newWire(t)}
		var rules []byte
		if s := sections["server"]; s != nil {
			rules = s.Data
		}
		k.server = newPlayer(t, k, over, rules, used)
		steps := &steps{t: t, k: k, known: client.MemoryEraStore()}
		for _, line := range lineList(sections["client"].Data) {
			k.add(line)
			steps.run(line)
			settle()
		}
		said = k.text()
		steps.leave()
		k.server.end()
		settle()
	})
	return said
}

// moment is how long the server waits before it records a message, and after it has
// sent one. Virtual time passes only when nobody has anything to do, so the immediate
// effects of a message are recorded before the next one.
const moment = time.Nanosecond

// elapse lets virtual time pass: all of a conversation runs in the bubble that
// converse opens.
func elapse(d time.Duration) { <-time.After(d) }

// settle waits for all that follows from a step without time passing.
func settle() {
	elapse(1000 * moment)
	synctest.Wait()
}

// lineList returns the lines that say something; a number sign begins a remark.
func lineList(text []byte) []string {
	var out []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, " \r\n")
		if trimmed := strings.TrimSpace(line); trimmed != "" && !strings.HasPrefix(trimmed, "#") {
			out = append(out, line)
		}
	}
	return out
}

// talk records the messages of a conversation.
type talk struct {
	t      *testing.T
	wire   *wire
	server *player

	mu    sync.Mutex
	lines []string
	stamp string
}

func (k *talk) add(line string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lines = append(k.lines, line)
}

// note adds an indented line.
func (k *talk) note(format string, args ...any) {
	k.add("  " + k.brief(strings.TrimRight(fmt.Sprintf(format, args...), " ")))
}

func (k *talk) text() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.lines) == 0 {
		return ""
	}
	return strings.Join(k.lines, "\n") + "\n"
}

// stamps are the members by which the client identifies itself in every request.
var stamps = regexp.MustCompile(`"io\.modelcontextprotocol/protocolVersion":.*?"io\.modelcontextprotocol/clientInfo":\{[^}]*\}(,"io\.modelcontextprotocol/logLevel":"[a-z]+")?`)

// brief writes the client's stamp out when it is another one than before only.
func (k *talk) brief(line string) string {
	stamp := stamps.FindString(line)
	if stamp == "" {
		return line
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if stamp == k.stamp {
		return strings.Replace(line, stamp, "…", 1)
	}
	k.stamp = stamp
	return line
}

// compact is a message on one line.
func compact(text []byte) string { return string(bytes.TrimSpace(text)) }
