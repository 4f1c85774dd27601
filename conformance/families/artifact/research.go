package artifact

import (
	"errors"
	"io/fs"
	"regexp"
)

// researchDir is the directory of research documents in URIs and paths, and
// below the base unless the family is configured otherwise.
const researchDir = "research"

// researchFiles are S0's own documents, by the name of the input they are.
func researchFiles() map[string]string {
	return map[string]string{
		"business_research":       "AI_Agent_MCP_Server_business_research.md",
		"implementation_research": "AI_Agent_MCP_Server_implementation_research.md",
	}
}

// research is where the research documents are and what they are called.
type research struct {
	// dir is a folder of its own; empty is [researchDir] below the base.
	dir string
	// files are the file names by the names of the inputs.
	files map[string]string
}

var researchName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,199}\.md$`)

// read returns a research document, or [fs.ErrNotExist] for what is none.
func (r research) read(s *store, file string) ([]byte, error) {
	if !researchName.MatchString(file) || traverses(file) {
		return nil, fs.ErrNotExist
	}
	var root folder
	var err error
	name := file
	if r.dir != "" {
		root, err = openTree(r.dir)
	} else {
		root, err = s.view()
		name = researchDir + "/" + file
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	data, err := readFile(root, name)
	if errors.Is(err, errNotRegular) {
		return nil, fs.ErrNotExist
	}
	return data, err
}

// researchStatus is what a research document says of itself. One that says
// nothing has no workflow, and is taken as it is.
func researchStatus(data []byte) string {
	if status := metadataFields(string(data))["status"]; status != "" {
		return status
	}
	return statusFinalized
}
