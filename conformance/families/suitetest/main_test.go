package suitetest

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/worker"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == worker.Argument { // the reference server starts itself so to convert a document
		os.Exit(docling.WorkerMain(os.Stdin, os.Stdout)) //nolint:forbidigo // this branch is the main of a converter
	}
	sideBySide(4)
	testmain.Run(m)
}

// sideBySide has n parallel tests run at once where the command line does not say
// how many: they wait for servers more than they compute.
func sideBySide(n int) {
	flag.Parse()
	told := false
	flag.Visit(func(f *flag.Flag) { told = told || f.Name == "test.parallel" })
	if !told && runtime.GOMAXPROCS(0) < n {
		_ = flag.Set("test.parallel", strconv.Itoa(n)) // a number
	}
}
