package report

import (
	"errors"

	"github.com/mainstay-mcp/mainstay/internal/reportsample"
)

var (
	sampleReport = reportsample.Sample
	wideReport   = reportsample.Wide
	passedReport = reportsample.Passed
	samples      = reportsample.All
)

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }
