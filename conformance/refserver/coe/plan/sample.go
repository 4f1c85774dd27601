package plan

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"time"
)

//go:embed sample.json
var sample []byte

// Sample returns the plan built in: 35 tasks, two of them blocked by others,
// that reproduce the examples of S1. The first task a tool adds is TASK-089, as
// there.
func Sample() Seed {
	var file struct {
		NextTask int       `json:"nextTask"`
		Created  time.Time `json:"created"`
		Tasks    []struct {
			Task
			Priority string `json:"priority"`
		} `json:"tasks"`
	}
	if err := json.Unmarshal(sample, &file); err != nil { // the file is part of the program
		panic(err)
	}
	s := Seed{NextTask: file.NextTask}
	for i, in := range file.Tasks {
		t := in.Task
		p, ok := ParsePriority(in.Priority)
		if !ok {
			panic("sample.json: priority " + in.Priority)
		}
		t.Priority = p
		t.ID, t.TicketID = fmt.Sprintf("TASK-%03d", i+1), fmt.Sprintf("TICKET-%03d", i+1)
		t.Created = file.Created.Add(time.Duration(i) * time.Minute)
		s.Tasks = append(s.Tasks, t)
	}
	return s
}
