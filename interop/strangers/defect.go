package main

import (
	"fmt"
	"os"
	"strings"
)

// defect is one of a server's, as its writer describes it.
type defect struct {
	server, name string
	transport    string // stdio or http
	cause        string // what a report should name
	stdioOnly    bool   // not over HTTP
}

func (d defect) String() string { return d.server + "/" + d.name }

// key names the runs that a run with the defect is compared with.
func (d defect) key() string { return d.server + " " + d.transport }

// readDefects reads a table: server, name, transport, what is wrong, what it breaks, its cause.
// A defect of both transports is looked for over stdio.
func readDefects(file string) ([]defect, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var defects []defect
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if strings.HasPrefix(line, "server\t") {
			continue
		}
		parts := strings.Split(line, "\t")
		if len(parts) != 6 {
			return nil, fmt.Errorf("%s:%d: %d columns, want 6", file, i+1, len(parts))
		}
		d := defect{server: parts[0], name: parts[1], transport: parts[2], cause: parts[5], stdioOnly: parts[2] == "stdio"}
		switch d.transport {
		case "both":
			d.transport = "stdio"
		case "stdio", "http":
		default:
			return nil, fmt.Errorf("%s:%d: transport %q", file, i+1, d.transport)
		}
		defects = append(defects, d)
	}
	return defects, nil
}
