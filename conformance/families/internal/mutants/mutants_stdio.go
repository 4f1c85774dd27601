package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"io"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// stdioMutants break what only stdio has: lines, and the end of a program.
func stdioMutants() []Mutant {
	all := []Mutant{
		{ID: "stdout-banner", Says: "a line that is no message stands on standard output", Breaks: "STDIO-01", plant: func() *defect {
			first := true
			return &defect{line: func(line []byte) [][]byte {
				if first {
					first = false
					return [][]byte{[]byte("server listening on stdio"), line}
				}
				return [][]byte{line}
			}}
		}},
		{ID: "stdout-log-lines", Says: "log lines in JSON stand on standard output", Breaks: "STDIO-01", plant: func() *defect {
			return &defect{line: func(line []byte) [][]byte {
				return [][]byte{[]byte(`{"level":"info","msg":"answered"}`), line}
			}}
		}},
		{ID: "pretty-printed", Says: "large answers are printed over several lines", Breaks: "STDIO-01", plant: func() *defect {
			return &defect{line: func(line []byte) [][]byte {
				var out bytes.Buffer
				if bytes.Contains(line, []byte(`"serverInfo"`)) || json.Indent(&out, line, "", " ") != nil || len(line) < 4096 {
					return [][]byte{line}
				}
				return [][]byte{out.Bytes()}
			}}
		}},
		{ID: "eof-ignored", Says: "the server goes on when its input ends", Breaks: "STDIO-08", plant: func() *defect {
			return &defect{program: func(next Serve) Serve {
				return func(ctx context.Context, in io.Reader, out io.Writer) error {
					err := next(ctx, in, out)
					<-ctx.Done()
					return err
				}
			}}
		}},
		{ID: "bad-line-ends-it", Says: "a line that is no JSON ends the server", Breaks: "X-WIRE-02", plant: lines(func(line []byte) error {
			if len(line) > 0 && !json.Valid(line) {
				return io.ErrUnexpectedEOF
			}
			return nil
		})},
		{ID: "line-limit-64k", Says: "a line of more than 64 KiB ends the server", Breaks: "STDIO-02", plant: lines(func(line []byte) error {
			if len(line) > 64<<10 {
				return io.ErrShortBuffer
			}
			return nil
		})},
		{ID: "bad-line-silent", Says: "a line that is no JSON is passed over in silence", Breaks: "X-WIRE-02", plant: func() *defect {
			return &defect{answer: func(_ *exchange, r object) []object {
				if code, _ := isError(r); code == "-32700" {
					return nil
				}
				return []object{r}
			}}
		}},
		{ID: "stdio-notification-answered", Says: "an unknown notification is answered with an error", Breaks: "RPC-11", plant: func() *defect {
			return &defect{request: func(x *exchange) []object {
				if _, there := x.message["id"]; !there && x.method != "" && !knownNotification(x.method) {
					return []object{{"jsonrpc": "2.0", "id": nil, "error": object{"code": -32601, "message": "Method not found"}}}
				}
				return nil
			}}
		}},
		{ID: "answers-lost", Says: "every fiftieth answer of tools is lost", Breaks: "X-WIRE-12", plant: func() *defect {
			n := 0
			return &defect{answer: func(x *exchange, r object) []object {
				if x.method == mcp.MethodToolsCall {
					n++
				}
				if n == 50 {
					n = 0
					return nil
				}
				return []object{r}
			}}
		}},
	}
	for i := range all {
		all[i].Transport = Stdio
	}
	return all
}

func knownNotification(method string) bool {
	return method == mcp.MethodInitialized || method == mcp.MethodCancelled || method == mcp.MethodProgress || method == mcp.MethodRootsListChanged
}

// lines ends the server at the first line of the client that look refuses.
func lines(look func(line []byte) error) func() *defect {
	return func() *defect {
		return &defect{program: func(next Serve) Serve {
			return func(ctx context.Context, in io.Reader, out io.Writer) error {
				kept, passed := io.Pipe()
				go func() {
					var err error
					eachLine(in, func(line []byte) bool {
						if err = look(line); err != nil {
							return false
						}
						_, gone := passed.Write(append(line, '\n'))
						return gone == nil
					})
					_ = passed.Close() // never fails
				}()
				err := next(ctx, kept, out)
				_ = kept.Close() // never fails
				return err
			}
		}}
	}
}
