package coe

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/plan"
)

// BenchmarkTools prints p50 and p95 of each tool on a plan of 1,000 tasks with
// its tickets in SQLite, beside the targets of S1 (S1-PERF-01).
func BenchmarkTools(b *testing.B) {
	targets := map[string]time.Duration{
		"getNextTask": 100 * time.Millisecond, "reportTaskDone": 200 * time.Millisecond,
		"askQuestion": 500 * time.Millisecond, "reportObservation": 100 * time.Millisecond,
	}
	for _, name := range slices.Sorted(maps.Keys(goodArguments)) {
		b.Run(name, func(b *testing.B) {
			tool, args := toolOf(name), goodArguments[name]
			r := newRig(b, onDisk(b), func(o *Options) { o.Seed = many(1000) })
			// What ends a task or a verification ends another one each time.
			perCall := func(int) string { return args }
			switch tool {
			case "reportTaskDone":
				perCall = func(i int) string { return fmt.Sprintf(`{"taskId":"TASK-%03d","status":"done"}`, i+1) }
			case "reportTaskCompleted":
				perCall = func(i int) string { return fmt.Sprintf(`{"task_id":"TASK-%03d","status":"success"}`, i+1) }
			case "reportVerificationResult":
				r.call("reportTaskDone", `{"taskId":"TASK-001","status":"done"}`).ok()
			}
			took := make([]time.Duration, 0, b.N)
			for i := 0; b.Loop(); i++ {
				if i%900 == 899 || tool == "reportVerificationResult" && i > 0 { // start over with fresh tasks
					b.StopTimer()
					r = newRig(b, onDisk(b), func(o *Options) { o.Seed = many(1000) })
					if tool == "reportVerificationResult" {
						r.call("reportTaskDone", `{"taskId":"TASK-001","status":"done"}`).ok()
					}
					b.StartTimer()
				}
				begin := time.Now()
				p := r.call(tool, perCall(i%900))
				took = append(took, time.Since(begin))
				if p.failure != nil || p.isError {
					b.Fatal(p.failure, p.text)
				}
			}
			slices.Sort(took)
			at := func(percent int) time.Duration { return took[(len(took)-1)*percent/100] }
			b.ReportMetric(float64(at(50).Microseconds()), "p50-µs")
			b.ReportMetric(float64(at(95).Microseconds()), "p95-µs")
			if target, ok := targets[tool]; ok && at(95) > target {
				b.Errorf("p95 %s, the target is %s", at(95), target)
			}
		})
	}
}

func many(n int) *plan.Seed {
	tasks := plan.Sample().Tasks
	for i := len(tasks); i < n; i++ {
		t := tasks[i%35]
		t.ID, t.Dependencies = fmt.Sprintf("TASK-%03d", i+1), nil
		tasks = append(tasks, t)
	}
	return &plan.Seed{Tasks: tasks}
}
