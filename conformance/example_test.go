package conformance_test

import (
	"context"
	"fmt"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/checks"
)

// A program is started by the suite, as often as it needs it.
func ExampleRun() {
	report, err := checks.Run(context.Background(), conformance.Command([]string{"refserver"}, nil), conformance.Options{
		Only: []string{"lifecycle"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Verdict())
	for _, res := range report.Results {
		if report.Fails(&res) {
			fmt.Println(res.Level, res.ID, res.Title, res.Actual)
		}
	}
}
