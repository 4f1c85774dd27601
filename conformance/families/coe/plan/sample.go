package plan

import (
	_ "embed"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/source"
)

//go:embed sample.json
var sample []byte

// Sample returns the plan built in: 35 tasks, two of them blocked by others,
// that reproduce the examples of S1. The first task a tool adds is TASK-089, as
// there.
func Sample() Seed {
	drafts, next, err := readJSON(&source.File{Name: "sample.json", Path: "sample.json", Data: sample})
	if err != nil { // the file is part of the program
		panic(err)
	}
	seed, err := compile(drafts, next)
	if err != nil {
		panic(err)
	}
	return seed
}
