package toolcache

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A stored file is untrusted.
func FuzzStoredFile(f *testing.F) {
	key := strings.Repeat("a", 64)
	good := func(list string, head string) []byte {
		if head == "" {
			head = `{"format":1,"key":"` + key + `","hash":"` + hashOf([]byte(list)) + `","at":"2026-01-01T00:00:00Z","ttlMs":1000}`
		}
		return []byte(head + "\n" + list)
	}
	f.Add(good(`{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`, ""))
	f.Add(good(`{"tools":[]}`, ""))
	f.Add(good(`{"tools":[{"name":7}]}`, ""))
	f.Add(good(`null`, ""))
	f.Add(good(`{}`, `{"format":2}`))
	f.Add([]byte("\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entry, err := parseFile(data, key)
		if err != nil {
			require.ErrorIs(t, err, errFile)
			return
		}
		require.Equal(t, hashOf(entry.List), entry.Hash)
		if entry.TTL != nil {
			require.GreaterOrEqual(t, *entry.TTL, time.Duration(0))
			require.LessOrEqual(t, *entry.TTL, maxTTL)
		}
	})
}
