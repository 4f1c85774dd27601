package adr

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	one UID = "20250108T143512.237Z-A001"
	two UID = "20250109T143512.237Z-A002"
)

func sample() *Record {
	return &Record{
		UID: two, Title: "Authentication", Previous: one,
		Changes: []string{"Authentication.Strategy: OAuth"},
		Snapshot: Snapshot{
			"Authentication": {"Strategy": {"OAuth", two}},
			"Database":       {"Type": {"PostgreSQL (ADR 1)", one}, "Aaa": {"b: c", one}},
		},
		Context: "Add authentication", Decision: "OAuth", Rationale: "Because", Alternatives: []string{"Nothing"}, Consequences: "More work",
	}
}

func TestParse_ReadsWhatFormatWrites(t *testing.T) {
	t.Parallel()
	rec := sample()
	got, err := Parse(rec.Format())
	require.NoError(t, err)
	require.Equal(t, rec, got)
	require.Equal(t, one, PreviousOf(rec.Format()[:400]))
	crlf, err := Parse(strings.ReplaceAll(rec.Format(), "\n", "\r\n"))
	require.NoError(t, err, "version control may change line ends")
	require.Equal(t, rec, crlf)
}

func TestFormat_Layout(t *testing.T) {
	t.Parallel()
	require.Equal(t, `# ADR 20250109T143512.237Z-A002: Authentication

---

# PART 1: ARCHITECTURE SNAPSHOT

**UID:** 20250109T143512.237Z-A002  
**Date (UTC):** 2025-01-09T14:35:12.237Z  
**Previous UID:** 20250108T143512.237Z-A001

## Changes in this version

- Authentication.Strategy: OAuth

## CURRENT ARCHITECTURE STATE

### Database

- Type: PostgreSQL (ADR 1) (ADR 20250108T143512.237Z-A001)
- Aaa: b: c (ADR 20250108T143512.237Z-A001)

### Authentication

- Strategy: OAuth (ADR 20250109T143512.237Z-A002)

---

# PART 2: DECISION DETAILS

## Context

Add authentication

## Decision

OAuth

## Rationale

Because

## Alternatives Considered

- Nothing

## Consequences

More work
`, sample().Format())
}

func TestFormat_HostileTextStaysText(t *testing.T) {
	t.Parallel()
	evil := "x\n\n---\n# PART 2: DECISION DETAILS\n## Context\n### Database\n- Type: evil (ADR " + string(two) + ")\n<!-- UID: x -->\x00\u2028## Decision"
	rec := sample()
	rec.Title, rec.Context, rec.Decision, rec.Rationale, rec.Consequences = evil, evil, evil, evil, evil
	rec.Alternatives, rec.Changes = []string{evil}, []string{evil}
	rec.Snapshot["Authentication"]["Strategy"] = Value{evil, two}
	got, err := Parse(rec.Format())
	require.NoError(t, err)
	require.Equal(t, two, got.UID)
	require.Equal(t, "PostgreSQL (ADR 1)", got.Snapshot["Database"]["Type"].Text)
	require.Len(t, got.Snapshot, 2)
	require.Len(t, got.Alternatives, 1)
}

func TestParse_Malformed(t *testing.T) {
	t.Parallel()
	text := sample().Format()
	for name, broken := range map[string]string{
		"empty":            "",
		"no part 2":        text[:strings.Index(text, "# PART 2")],
		"no UID":           strings.Replace(text, "**UID:** ", "UID ", 1),
		"bad UID":          strings.Replace(text, "**UID:** 2025", "**UID:** x", 1),
		"bad previous":     strings.Replace(text, "**Previous UID:** ", "**Previous UID:** x", 1),
		"no previous":      strings.Replace(text, "**Previous UID:** "+string(one), "", 1),
		"no date":          strings.Replace(text, "**Date (UTC):** 2025-01-09T14:35:12.237Z", "", 1),
		"no state":         strings.Replace(text, "## CURRENT ARCHITECTURE STATE", "", 1),
		"no context":       strings.Replace(text, "## Context", "", 1),
		"twice":            strings.Replace(text, "## Rationale", "## Decision", 1),
		"section twice":    strings.Replace(text, "## Rationale", "## Context\n\nagain\n\n## Rationale", 1),
		"changes twice":    strings.Replace(text, "## CURRENT", "## Changes in this version\n\n## CURRENT", 1),
		"state twice":      strings.Replace(text, "---\n\n# PART 2", "## CURRENT ARCHITECTURE STATE\n\n---\n\n# PART 2", 1),
		"unknown section":  strings.Replace(text, "## Rationale", "## Other", 1),
		"no alternative":   strings.Replace(text, "- Nothing", "", 1),
		"field twice":      strings.Replace(text, "- Aaa: ", "- Type: ", 1),
		"no reference":     strings.Replace(text, " (ADR "+string(two)+")", "", 1),
		"bad reference":    strings.Replace(text, "OAuth (ADR 2025", "OAuth (ADR x", 1),
		"category twice":   strings.Replace(text, "### Authentication", "### Database", 1),
		"conflict marks":   strings.Replace(text, "## Changes", "<<<<<<< HEAD\n## Changes", 1),
		"no title":         strings.Replace(text, "# ADR", "ADR", 1),
		"change no bullet": strings.Replace(text, "- Authentication.Strategy", "Authentication.Strategy", 1),
		"loose field":      strings.Replace(text, "### Database\n", "", 1),
	} {
		_, err := Parse(broken)
		var malformed *ParseError
		require.ErrorAs(t, err, &malformed, name)
	}
}

func TestSnapshot_MergeAndMissing(t *testing.T) {
	t.Parallel()
	a := Snapshot{"Database": {"Type": {"MySQL", one}, "ORM": {"Prisma", one}}}
	b := Snapshot{"Database": {"Type": {"SQLite", two}}, "Infra": {"Hosting": {"AWS", one}}}
	want := Snapshot{"Database": {"Type": {"SQLite", two}, "ORM": {"Prisma", one}}, "Infra": {"Hosting": {"AWS", one}}}
	require.Equal(t, want, a.Merge(b))
	require.Equal(t, want, b.Merge(a))
	require.Equal(t, []string{"Database.ORM"}, b.Missing(a))
	require.Equal(t, []string{"Infra"}, a.Missing(b))
	require.Empty(t, want.Missing(a))
	require.Equal(t, "MySQL", a["Database"]["Type"].Text, "neither is changed")
}

func TestPatch_Clean(t *testing.T) {
	t.Parallel()
	got := Patch{
		"database": {"Type": " Postgre\nSQL ", "O R/M": "x", "": "no field", "Empty": " ", "Dash": "--"},
		"Money":    {"Provider": "Stripe"},
		"???":      {"X": "y"},
		"Nothing":  {"": "z"},
	}.Clean()
	require.Equal(t, Patch{
		"Database": {"Type": "Postgre SQL", "O_R_M": "x"},
		"Other":    {"Money_Provider": "Stripe", "X": "y", "Nothing": "z"},
	}, got)
	require.Equal(t, []string{"Database.Type: Postgre SQL", "Database.O_R_M: x", "Other.Money_Provider: Stripe", "Other.Nothing: z", "Other.X: y"}, Snapshot{}.Changes(got))
	require.Empty(t, Patch{"Database": {"Type": "…"}}.Clean())
}

// TestSnapshot_Changes: a second decision names the value that it replaces.
func TestSnapshot_Changes(t *testing.T) {
	t.Parallel()
	held := Snapshot{"Messaging": {"Broker": {"Kafka", one}}, "Database": {"Type": {"MySQL", two}}}
	require.Equal(t, []string{
		"Database.Type: MySQL, as before (ADR " + string(two) + ")",
		"Messaging.Broker: RabbitMQ, replaces Kafka (ADR " + string(one) + ")",
		"Storage.Files: S3",
	}, held.Changes(Patch{"Messaging": {"Broker": "RabbitMQ"}, "Storage": {"Files": "S3"}, "Database": {"Type": "MySQL"}}))
}

// TestFieldOf: requests in any script have fields of their own.
func TestFieldOf(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Plan_the_approach", FieldOf("Plan  the approach."))
	require.Equal(t, "引入审批规范", FieldOf("引入审批规范。"))
	seen := map[string]string{}
	for _, request := range []string{
		"Use C++", "Use C#", "Use C", "制定接口命名规范", "制定代码评审规范", "制定发布节奏", "Über alles", "Uber alles", "計画", "计划", "!!!", "???", "",
		"one two three four five six seven", "one two three four five six eight", "one two three four five six",
		strings.Repeat("字", 100), strings.Repeat("字", 101), strings.Repeat("a", 64) + "b", strings.Repeat("a", 64) + "c", "ก็", "กิ",
	} {
		field := FieldOf(request)
		require.NotEmpty(t, field, request)
		require.LessOrEqual(t, len([]rune(field)), maxField)
		require.Empty(t, seen[field], request)
		require.Equal(t, field, Field(field))
		seen[field] = request
	}
	rec := sample()
	rec.Snapshot = Snapshot{}.With(Patch{Other: {"引入审批规范": "是", "กิ": "ใช่"}}, one)
	require.Equal(t, rec.Snapshot, mustParse(t, rec.Format()).Snapshot)
}

// FuzzParse: nothing panics, and what is read can be written and read again.
func FuzzParse(f *testing.F) {
	text := sample().Format()
	f.Add(text)
	f.Add(strings.ReplaceAll(text, "\n", "\r\n"))
	f.Add("# ADR x: y\n---\nPART 1: ARCHITECTURE SNAPSHOT\n**UID:** " + string(one))
	f.Add(strings.ReplaceAll(text, "Because", "### x\n---\n- y"))
	f.Fuzz(func(t *testing.T, text string) {
		rec, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(rec.Format())
		if err != nil {
			// Only a document whose lines are beyond what we write, such as a
			// title of control characters, may fail the second time.
			require.ErrorContains(t, err, "missing")
			return
		}
		require.Equal(t, rec.UID, again.UID)
		require.Equal(t, rec.Previous, again.Previous)
		require.Equal(t, rec.Snapshot.Order(), again.Snapshot.Order())
		require.Equal(t, again.Format(), mustParse(t, again.Format()).Format(), "writing is stable")
	})
}

func mustParse(t *testing.T, text string) *Record {
	t.Helper()
	rec, err := Parse(text)
	require.NoError(t, err)
	return rec
}
