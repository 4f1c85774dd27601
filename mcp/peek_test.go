package mcp

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// pad makes a result so large that it is searched from its end.
var pad = `{"tools":["` + strings.Repeat(`x\"]} `, peekedBehind/6) + `"],`

var tails = []string{
	`"resultType":"complete"}`,
	`"resultType":"complete","ttlMs":60000,"cacheScope":"private"}`,
	`"resultType" : "task" ,` + "\n\t" + `"ttlMs" : 1 } `,
	`"a":"resultType","resultType":"x\"y","_meta":{"resultType":"no","b":["}\\\"",{"resultType":"no"}]}}`,
	`"\u0072esultType":"complete","z":"\\"}`,
	`"resultType":7,"x":[]}`,
	`"resultType":{"resultType":"no"}}`,
	`"x":["resultType",{"a":"b"}],"y":"\"resultType\":\"no"}`,
	`"x":"` + strings.Repeat("y", 2*peekedBehind) + `"}`,
	`"resultType":"complete","x":"` + strings.Repeat(`y\\`, peekedBehind) + `"}`,
	`"x":{}}`,
}

func TestPeekBehind(t *testing.T) {
	t.Parallel()
	behind := 0
	for _, tail := range tails {
		if _, ok := typeBehind([]byte(pad + tail)); ok {
			behind++
		}
		samePeek(t, pad+tail)
	}
	require.Equal(t, 7, behind)
	for _, broken := range []string{"", `"`, `""`, `"}`, `}`, `":"}`, `:"resultType"}`, strings.Repeat(`"`, 2*peekedBehind), strings.Repeat(` `, 2*peekedBehind)} {
		_, ok := typeBehind([]byte(broken))
		require.False(t, ok, broken)
	}
}

// From both ends the same is found.
func samePeek(t *testing.T, data string) {
	t.Helper()
	want, said := memberAhead([]byte(data), resultTypeMember)
	got, ok := PeekResultType([]byte(data))
	require.Equal(t, said, ok, data)
	require.Equal(t, want, string(got), data)
}

func FuzzPeekBehind(f *testing.F) {
	for _, tail := range tails {
		f.Add(tail)
	}
	f.Fuzz(func(t *testing.T, tail string) {
		_, _ = typeBehind([]byte(tail)) // does not panic for any text
		data := pad + tail
		if _, err := jsonrpc.AppendValue(nil, []byte(data)); err == nil {
			samePeek(t, data)
		}
	})
}
