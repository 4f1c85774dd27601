package faults

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// streamCase observes a fault of lines.
type streamCase struct {
	rule  Rule
	calls int
	check func(t *testing.T, rig *streamRig)
}

// says checks the lines that come for one call.
func says(want ...string) func(*testing.T, *streamRig) {
	return func(t *testing.T, rig *streamRig) {
		t.Helper()
		rig.say(call(1))
		heard, err := rig.hear(len(want))
		require.NoError(t, err)
		for i, w := range want {
			if w == "good" {
				isGood(t, heard[i])
			} else {
				require.Equal(t, w, heard[i])
			}
		}
	}
}

// gone checks that both directions have ended, behind so many lines.
func gone(t *testing.T, rig *streamRig) []string {
	t.Helper()
	heard, err := rig.hear(1)
	require.ErrorIs(t, err, io.EOF)
	_, err = io.WriteString(rig.to, call(2)+"\n")
	require.ErrorIs(t, err, io.ErrClosedPipe)
	return heard
}

func crashes(t *testing.T, rig *streamRig) {
	t.Helper()
	rig.say(call(1))
	require.Empty(t, gone(t, rig))
}

var streamCases = map[string]streamCase{
	"E3/banner": {calls: 1, check: says("Server listening on stdio", "good")},
	"E3/ansi":   {calls: 1, check: says("\x1b[32mready\x1b[0m", "good")},
	"E3/blank":  {calls: 1, check: says("", "  \t", "\r", "good")},
	"E3/bom": {calls: 1, check: func(t *testing.T, rig *streamRig) {
		rig.say(call(1))
		heard, err := rig.hear(1)
		require.NoError(t, err)
		answer, ok := strings.CutPrefix(heard[0], "\ufeff")
		require.True(t, ok)
		isGood(t, answer)
	}},
	"E5": {calls: 1, check: crashes},
	"E6/answer": {calls: 1, check: func(t *testing.T, rig *streamRig) {
		rig.say(call(1))
		heard := gone(t, rig)
		require.Len(t, heard, 1)
		require.True(t, strings.HasPrefix(heard[0], `{"jsonrpc":"2.0","id":1,"result":`))
		notJSON(t, heard[0])
	}},
	"E6/request": {check: func(t *testing.T, rig *streamRig) {
		n, err := io.WriteString(rig.to, call(1)+"\n")
		require.ErrorIs(t, err, io.ErrClosedPipe)
		require.Equal(t, 128, n, "a part of the line, behind the tool's name, was read")
		require.Empty(t, gone(t, rig))
		require.False(t, rig.proxy.History()[0].Sent)
	}},
	"E7": {calls: 1, check: func(t *testing.T, rig *streamRig) {
		rig.say(call(1))
		_, err := rig.hear(1)
		require.ErrorIs(t, err, io.EOF)
		_, err = io.WriteString(rig.to, request(2, "ping", "{}")+"\n")
		require.NoError(t, err)
	}},
	"E8": {calls: 2, check: func(t *testing.T, rig *streamRig) {
		says("good")(t, rig)
		wrote := make(chan error, 1)
		go func() {
			_, err := io.WriteString(rig.to, strings.Repeat(" ", 100)+call(1)+"\n")
			wrote <- err
		}()
		synctest.Wait()
		require.Empty(t, wrote)
		rig.proxy.Heal()
		require.NoError(t, <-wrote)
		_, err := rig.hear(1)
		require.NoError(t, err)
	}},
	"E9": {calls: 1, check: func(t *testing.T, rig *streamRig) {
		says("good")(t, rig)
		_, err := io.WriteString(rig.to, call(2)+"\n")
		require.ErrorIs(t, err, io.ErrClosedPipe)
	}},
	"E10/freeze": {rule: Rule{For: Duration(time.Minute)}, calls: 1, check: func(t *testing.T, rig *streamRig) {
		began := time.Now()
		says("good")(t, rig)
		require.Equal(t, time.Minute, time.Since(began))
	}},
	"E13": {check: func(t *testing.T, rig *streamRig) { crashes(t, rig); require.False(t, rig.proxy.History()[0].Sent) }},
	"E14": {calls: 1, check: func(t *testing.T, rig *streamRig) {
		began := time.Now()
		says("good")(t, rig)
		require.Equal(t, 60*time.Second, time.Since(began))
	}},
	"E15": {rule: Rule{Every: Duration(time.Second)}, calls: 1, check: func(t *testing.T, rig *streamRig) {
		began := time.Now()
		says("good")(t, rig)
		require.Greater(t, time.Since(began), 50*time.Second)
		heard := rig.proxy.History()
		require.True(t, heard[0].Delivered)
	}},
}

func TestFaultsOfStreams(t *testing.T) {
	t.Parallel()
	for key, c := range streamCases {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				rule := c.rule
				rule.Fault, rule.Variant, _ = strings.Cut(key, "/")
				rig := newStreamRig(t, rule)
				c.check(t, rig)
				synctest.Wait() // the server may be in the call still
				require.EqualValues(t, c.calls, rig.server.executed.Load())
				require.Equal(t, 1, min(rig.proxy.Stats()[rule.Fault], 1))
			})
		})
	}
}

// What is no message, and what the server asks, passes as it is; a batch has the
// fault of its first request.
func TestOtherLines(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		rig := newStreamRig(t, Rule{Fault: "F17"})
		rig.say("no json", `{"jsonrpc":"2.0","id":"of-server","result":{}}`, "["+list+","+call(2)+"]")
		heard, err := rig.hear(1) // the fake server answers the batch's first
		require.NoError(t, err)
		require.Contains(t, heard[0], `"tools":[`)
		require.Len(t, rig.proxy.History(), 1, "the batch, by its first request")
		require.Equal(t, "tools/list", rig.proxy.History()[0].Method)
	})
}

// The client's end is passed on, and so is the server's.
func TestStreamsEnd(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		rig := newStreamRig(t)
		rig.say(call(1))
		_, err := rig.hear(1)
		require.NoError(t, err)
		require.NoError(t, rig.to.Close())
		_, err = rig.hear(1)
		require.ErrorIs(t, err, io.EOF)
		require.NoError(t, <-rig.ended)
		rig.ended <- nil
	})
}
