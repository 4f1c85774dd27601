package checks

import (
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance"
)

// Error codes of the artifact family (tools.md 1.2).
const (
	codeServer   = -32000
	codeNotFound = -32001
)

// Tools of the artifact family.
const (
	toolValidate = "validate_artifact"
	toolStore    = "store_artifact"
	toolApprove  = "approve_artifact"
	toolAddTask  = "add_task"
	toolNextID   = "get_next_available_id"
	toolReserve  = "reserve_id_range"
)

// artifactTools are all of them.
var artifactTools = []string{toolValidate, toolStore, toolApprove, toolAddTask, toolNextID, toolReserve}

// fixtureTools are the tools that use what the suite shares with a program.
var fixtureTools = append(slices.Clone(artifactTools), toolPDF, toolSave)

// surroundings is what the scenarios of the artifact, docling and assistant families
// need around a program.
func surroundings() conformance.Surroundings {
	return conformance.Surroundings{
		Tools: fixtureTools,
		Fill:  func(f conformance.Fixtures) error { return writeChecklists(f.Checklists) },
		Play: func() (conformance.Services, error) {
			played, err := newStandIn()
			if err != nil {
				return nil, err
			}
			return played, nil
		},
	}
}
