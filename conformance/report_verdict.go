package conformance

// Summary counts the results of a report.
type Summary struct {
	// Must holds the requirements, Should what only warns, advice included; known
	// failures are in both.
	Must, Should Tally
	// Skipped counts checks that do not apply, of every level.
	Skipped int
	// Known counts broken rules that a file of known outcomes expects, Stale
	// its entries that fail the run because they hold no longer.
	Known, Stale int
	// Flaky counts checks that held in some attempts and not in others.
	Flaky int
	// Unscored counts checks that ran and are no part of the verdict.
	Unscored int
	// Blocked counts requirements that could not be looked at, because something they
	// build on does not work. They are in Skipped, too.
	Blocked int
	// SkippedAreas are the areas in which nothing ran although the run did
	// not exclude them.
	SkippedAreas []string
}

// Tally counts outcomes. Skips are not in it.
type Tally struct {
	Pass, Fail, Warn, Inconclusive, Error int
}

// Summary counts the results.
func (r *Report) Summary() Summary {
	var s Summary
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
				ran[res.Area] = true // asked for, or a rule for others
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

// count takes in a result that is no skip.
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
	tally := &s.Must
	if res.Level != Must {
		tally = &s.Should
	}
	tally.add(res.Status)
}

func (t *Tally) add(s Status) {
	switch s {
	case Pass:
		t.Pass++
	case Fail:
		t.Fail++
	case Warn:
		t.Warn++
	case Inconclusive:
		t.Inconclusive++
	case Error:
		t.Error++
	case Skip:
	}
}

// notHeld reports whether a baseline file can expect an outcome: not a failure of the suite
// itself.
func notHeld(s Status) bool { return s == Fail || s == Warn || s == Inconclusive }

// Flaky reports whether the check held in some attempts and not in others.
func (r *Result) Flaky() bool { return 0 < r.Bad && r.Bad < r.Attempts }

// Excused reports whether the check did not hold, or could not be looked at because
// of another that did not, and a file of known outcomes expects that.
func (r *Result) Excused() bool {
	open := notHeld(r.Status) || r.Reason == SkipPrerequisite
	return open && (r.Baseline == BaselineKnown || r.Baseline == BaselineFlaky)
}

// Fails reports whether res alone fails the Run: a rule is broken that nothing
// excuses, or a file expects a failure that is none any more.
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

// Verdict is Failed when a result fails the run; else VerdictInconclusive when a
// required check is inconclusive, or when nothing was decided; else Passed.
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

// ExitCode is 0, 1 or 10 for passed, failed and inconclusive.
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
