package mutants

import (
	"encoding/json"
	"os"
)

// Record is what noticed each mutant, by its id: scenarios of the official suite,
// which is not measured again with every change of this project's, or the check
// of this project's that a short run has to look at.
type Record map[string][]string

// ReadRecord reads a record from a file.
func ReadRecord(file string) (Record, error) {
	data, err := os.ReadFile(file) //nolint:gosec // the caller's own file
	if err != nil {
		return nil, err
	}
	r := Record{}
	return r, json.Unmarshal(data, &r)
}

// Write writes the record to a file, a mutant a line.
func (r Record) Write(file string) error {
	data, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(data, '\n'), 0o644) //nolint:gosec // a document
}
