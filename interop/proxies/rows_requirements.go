package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// families are what refserver serves over HTTP without being asked.
const families = "artifact,coe,docling,preflights,assistant,fixtures"

const conformTime = 12 * time.Minute

// conformReport is what the table needs of the report of mcpctl conform.
type conformReport struct {
	Legs []struct {
		Revision string `json:"revision"`
	} `json:"legs"`
	Summary struct {
		Must struct {
			Pass, Fail, Inconclusive int
		} `json:"must"`
	} `json:"summary"`
}

func requirements(ctx context.Context, s *stage, w *way, set func(values ...string)) error {
	home, err := s.folder()
	if err != nil {
		return err
	}
	r := &rig{stage: s, way: w, home: home}
	defer r.close()
	err = r.prepare(ctx, []string{s.refserver, "--families", families}, func(address string) []string { return []string{s.refserver, "--http", address} }, true)
	if err != nil {
		return err
	}
	file := filepath.Join(home, "report.json")
	argv := []string{s.mcpctl, "conform", "server", "--suite", "protocol", "--side-effects", "all", "--report", "json=" + file}
	if r.url != "" {
		argv = append(argv, r.url)
	} else {
		argv = append(append(argv, "--"), r.front.argv...)
	}
	p, err := command{argv: argv, env: environment(home), log: filepath.Join(home, "conform.log")}.start(ctx)
	if err != nil {
		return err
	}
	p.end(conformTime)
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("no report after %v", conformTime)
	}
	var report conformReport
	if err := json.Unmarshal(text, &report); err != nil {
		return err
	}
	var revisions []string
	for _, leg := range report.Legs {
		revisions = append(revisions, leg.Revision)
	}
	must := report.Summary.Must
	set(count(must.Fail), count(must.Inconclusive), count(must.Pass), strings.Join(revisions, ", "))
	return nil
}
