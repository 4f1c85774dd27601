package suitetest

import (
	"context"
	"fmt"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/checks"
	"github.com/mainstay-mcp/mainstay/conformance/families"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// A server that is a Go function is judged without a process or a port.
func Example() {
	srv, err := families.New(families.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	report, err := checks.Run(context.Background(), conformance.InProcess(srv.ServeStdio), conformance.Options{
		Only: []string{"lifecycle"}, Revisions: []mcp.Version{mcp.LatestSession},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Verdict(), report.ExitCode())
	for _, res := range report.Results {
		if res.ID == "X-GATE-02/answered" {
			fmt.Println(res.Level, res.Status, res.Title)
		}
	}
	// Output:
	// passed 0
	// MUST pass a second initialize is answered like the first, or refused with -32600
}
