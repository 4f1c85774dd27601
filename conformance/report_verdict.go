package conformance

// Summary counts the results of a report.
type Summary struct {
	// Must counts the outcomes of requirements, Should those of checks that only warn, both
	// without skips. They include known failures.
	Must, Should map[Status]int
	// Skipped counts checks that do not apply.
	Skipped int
	// Known counts broken rules that a baseline file expects, Stale its entries whose
	// checks pass, which fails the run.
	Known, Stale int
	// Flaky counts checks that passed in some attempts only.
	Flaky int
	// Unscored counts checks that ran and do not count for the verdict.
	Unscored int
	// Blocked counts requirements that could not be judged because a prerequisite failed.
	// They are in Skipped, too.
	Blocked int
	// SkippedAreas are the areas without a check that ran, unless the run excluded them.
	SkippedAreas []string
}

// Summary counts the results.
func (r *Report) Summary() Summary {
	s := Summary{Must: map[Status]int{}, Should: map[Status]int{}}
	ran := map[string]bool{}
	var areas []string
	for i := range r.Results {
		res := &r.Results[i]
		if _, seen := ran[res.Area]; !seen {
			ran[res.Area] = false
			areas = append(areas, res.Area)
		}
		if res.Status == Skip {
			s.Skipped++
			if res.Reason == SkipPrerequisite && res.Level == Must && !res.Unscored && !res.Excused() {
				s.Blocked++
			}
			if res.Reason == SkipExcluded || res.Reason == SkipTransport || res.Reason == SkipNotInRevision {
				ran[res.Area] = true // excluded, or a rule for other servers
			}
			continue
		}
		ran[res.Area] = true
		s.count(res)
	}
	for _, area := range areas {
		if !ran[area] {
			s.SkippedAreas = append(s.SkippedAreas, area)
		}
	}
	return s
}

// count adds a result that is no skip.
func (s *Summary) count(res *Result) {
	if res.Flaky() {
		s.Flaky++
	}
	if res.Unscored {
		s.Unscored++
		return
	}
	switch {
	case res.Baseline == BaselineStale:
		s.Stale++
	case res.Excused():
		s.Known++
	}
	tally := s.Must
	if res.Level != Must {
		tally = s.Should
	}
	tally[res.Status]++
}

// notHeld reports whether a baseline file can expect an outcome: not a failure of the suite
// itself.
func notHeld(s Status) bool { return s == Fail || s == Warn || s == Inconclusive }

// Flaky reports whether the check passed in some attempts only.
func (r *Result) Flaky() bool { return 0 < r.Bad && r.Bad < r.Attempts }

// Excused reports whether the check, or its prerequisite, failed as a baseline file
// expects.
func (r *Result) Excused() bool {
	open := notHeld(r.Status) || r.Reason == SkipPrerequisite
	return open && (r.Baseline == BaselineKnown || r.Baseline == BaselineFlaky)
}

// Fails reports whether res alone fails the run: a rule is broken that no baseline entry
// expects, or a baseline entry is stale.
func (r *Report) Fails(res *Result) bool {
	switch {
	case res.Unscored:
		return false
	case res.Baseline == BaselineStale:
		return true
	case res.Status == Fail, res.Status == Warn && r.Policy.Strict && res.Level != Advice:
		return !res.Excused()
	}
	return false
}

// Verdict returns [Failed] if a result fails the run; else [VerdictInconclusive] if a
// required check is inconclusive or nothing was decided; else [Passed].
func (r *Report) Verdict() Verdict {
	open, decided := false, false
	for i := range r.Results {
		res := &r.Results[i]
		switch {
		case r.Fails(res):
			return Failed
		case res.Unscored:
			continue
		case res.Level != Must, res.Excused():
		case res.Status == Inconclusive, res.Status == Error, res.Reason == SkipPrerequisite:
			open = true
		}
		decided = decided || res.Status == Pass || res.Status == Warn || res.Status == Fail
	}
	if open || !decided {
		return VerdictInconclusive
	}
	return Passed
}

// ExitCode returns 0, 1 or 10 for passed, failed and inconclusive.
func (r *Report) ExitCode() int {
	switch r.Verdict() {
	case Passed:
		return exitPassed
	case Failed:
		return exitFailed
	default:
		return exitInconclusive
	}
}
