package preflights

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/adr"
	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/task"
)

func TestADR_S3_ADR_06_KeepsAllThatWasDecided(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.run(t, "Add a database", nil)
	second := r.run(t, "Add authentication", authAnswers)
	third := r.run(t, "Change the database", args{"database_type": "SQLite"})
	text := r.file(t, third.Created[0].Path)
	require.Contains(t, text, "**Previous UID:** "+second.Created[0].UID)
	require.Contains(t, r.file(t, first.Created[0].Path), "**Previous UID:** None")
	require.Contains(t, text, "Database.Type was PostgreSQL (ADR "+first.Created[0].UID+").")
	got := r.read(t).Architecture
	require.Equal(t, third.Created[0].UID, *got.UID)
	require.Equal(t, map[string]map[string]string{
		"Authentication": {"Strategy": "OAuth", "Library": "next-auth"},
		"Database":       {"Type": "SQLite", "ORM": "Prisma", "Migrations": "As agreed"},
	}, got.Categories)
	require.Contains(t, text, "- Strategy: OAuth (ADR "+second.Created[0].UID+")", "a value keeps the ADR that set it")
}

func TestADR_S3_UID_02_05_OrderIsThatOfNames(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var made []string
	for i := range 5 {
		made = append(made, filepath.Base(r.run(t, fmt.Sprintf("Plan the approach %d", i), nil).Created[0].Path))
	}
	require.Equal(t, made, r.names(t, "docs/adr"))
	last := made[4]
	adrs := filepath.Join(r.root, "docs", "adr")
	require.NoError(t, os.Rename(filepath.Join(adrs, last), filepath.Join(adrs, last[:adr.UIDLen]+"_0-renamed.md")))
	require.Equal(t, last[:adr.UIDLen], *r.read(t).Architecture.UID)
	next := r.run(t, "Plan the approach 5", nil)
	require.Contains(t, r.file(t, next.Created[0].Path), "**Previous UID:** "+last[:adr.UIDLen])
}

func TestADR_S3_UID_03_ClonesMergeByCopy(t *testing.T) {
	t.Parallel()
	a := newRig(t)
	a.run(t, "Add a database", nil)
	b := newRig(t)
	require.NoError(t, os.CopyFS(filepath.Join(b.root, "docs"), os.DirFS(filepath.Join(a.root, "docs"))))
	n := 20
	if os.Getenv("MAINSTAY_SOAK") != "" {
		n = 200
	}
	for i := range n {
		in := args{"user_intention": fmt.Sprintf("Plan approach B %d", i), "answers": args{"decision": "B"}}
		done := make(chan *answer)
		go func() { done <- b.outcome(t.Context(), in) }()
		a.run(t, fmt.Sprintf("Plan approach A %d", i), nil)
		o := <-done
		require.Equal(t, "completed", o.Status, o.text)
	}
	// The two branches meet: no name is there twice but for the common past.
	for _, name := range b.names(t, "docs/adr")[1:] {
		require.NotContains(t, a.names(t, "docs/adr"), name)
		a.write(t, "docs/adr/"+name, b.file(t, "docs/adr/"+name))
	}
	require.Len(t, a.names(t, "docs/adr"), 2*n+1)
	a.run(t, "Add authentication", authAnswers)
	got := a.read(t).Architecture.Categories
	require.Len(t, got["Other"], 2*n, "what either branch decided is still decided")
	require.Contains(t, got, "Database")
	require.Contains(t, got, "Authentication")
}

func TestADR_S3_UID_04_AboveWhatIsThere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	future := adr.UID("29991231T235959.999Z-A000")
	rec := adr.Record{UID: future, Title: "x", Snapshot: adr.Snapshot{}.With(adr.Patch{"Other": {"X": "y"}}, future), Alternatives: []string{"none"}}
	r.write(t, "docs/adr/"+adr.FileName(future, "x"), rec.Format())
	done := r.run(t, "Add authentication", authAnswers)
	require.Greater(t, done.Created[0].UID, string(future), "or it would not be the latest")
	require.Contains(t, r.read(t).Architecture.Categories, "Authentication")

	r = newRig(t)
	end := adr.UID("99991231T235959.999Z-A000")
	rec.UID = end
	r.write(t, "docs/adr/"+adr.FileName(end, "x"), rec.Format())
	require.Equal(t, codeValidation, r.run(t, "Add authentication", authAnswers).Error.Code)
}

// TestADR_S3_UID_04_AboveEveryDocument: also the current task and the archive
// may come from a clock that is ahead.
func TestADR_S3_UID_04_AboveEveryDocument(t *testing.T) {
	t.Parallel()
	const future = "29991231T235959.999Z-T000"
	current := "<!--\nUID: " + future + "\nCreated: 2999-12-31T23:59:59Z\nRelated ADR: None\n-->\n\n# From the future\n"
	for _, name := range []string{"docs/CURRENT_TASK.md", "docs/archive/task/" + future + "_x.md"} {
		r := newRig(t)
		r.write(t, name, current)
		done := r.run(t, "Add authentication", authAnswers)
		require.Greater(t, done.Created[0].UID, future, name)
		require.Greater(t, currentUID(t, r), done.Created[0].UID, name)
	}
}

func currentUID(t *testing.T, r *rig) string {
	t.Helper()
	id, err := task.ParseIdentity(r.file(t, "docs/CURRENT_TASK.md"))
	require.NoError(t, err)
	return string(id.UID)
}

func TestImmutable_S3_IMM_01_02(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.run(t, "Add authentication", authAnswers)
	name := filepath.Join(r.root, first.Created[0].Path)
	info, err := os.Stat(name)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o444), info.Mode().Perm())
	text := r.file(t, first.Created[0].Path)
	for i := range 20 {
		old := r.file(t, "docs/CURRENT_TASK.md") + "\nEdited by hand.\n"
		r.write(t, "docs/CURRENT_TASK.md", old)
		done := r.run(t, fmt.Sprintf("Plan the approach %d", i), nil)
		require.Equal(t, old, r.file(t, done.Archived.Path), "byte for byte")
		require.Contains(t, old, "UID: "+done.Archived.UID+"\n", "under its own UID")
		kept, err := os.Stat(filepath.Join(r.root, done.Archived.Path))
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o444), kept.Mode().Perm())
	}
	later, err := os.Stat(name)
	require.NoError(t, err)
	require.Equal(t, info.ModTime(), later.ModTime())
	require.Equal(t, text, r.file(t, first.Created[0].Path))
}

func TestImmutable_S3_IMM_03_TakenNames(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var tried []adr.UID
	err := r.fresh(adr.KindADR, "", func(uid adr.UID) error {
		if tried = append(tried, uid); len(tried) < 3 {
			return &fs.PathError{Op: "open", Err: fs.ErrExist}
		}
		return nil
	})
	require.NoError(t, err)
	require.Len(t, tried, 3)
	require.Less(t, tried[1], tried[2])

	// A task archived once is put back by hand and changed.
	r.run(t, "Fix typo one", nil)
	one := r.file(t, "docs/CURRENT_TASK.md")
	kept := r.run(t, "Fix typo two", nil).Archived
	r.write(t, "docs/CURRENT_TASK.md", one+"changed")
	again := r.run(t, "Fix typo three", nil).Archived
	require.NotEqual(t, kept.UID, again.UID)
	require.Equal(t, one, r.file(t, kept.Path))
	require.Equal(t, one+"changed", r.file(t, again.Path))
	require.Greater(t, currentUID(t, r), again.UID, "the new task is the latest document")
	// Put back unchanged it is archived already.
	r.write(t, "docs/CURRENT_TASK.md", one)
	require.Equal(t, kept.Path, r.run(t, "Fix typo four", nil).Archived.Path)
}

func TestProjection_S3_PROJ_01_RegeneratedIdentically(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	done := r.run(t, "Add authentication", authAnswers)
	text := r.file(t, "docs/ARCHITECTURE_STATE.md")
	uid := done.Created[0].UID
	require.Equal(t, "<!-- UID: "+uid+" -->\n<!-- Schema: v1 -->\n\n# Architecture State\n\n## Categories\n\n### Authentication\n\n"+
		"- **Strategy**: OAuth (ADR "+uid+")\n- **Library**: next-auth (ADR "+uid+")\n", text)
	require.NoError(t, os.Remove(filepath.Join(r.root, "docs", "ARCHITECTURE_STATE.md")))
	again := r.run(t, "Fix typo", nil)
	require.Equal(t, []string{"task", "projection"}, again.paths())
	require.Equal(t, text, r.file(t, "docs/ARCHITECTURE_STATE.md"))
}

func TestProjection_S3_PROJ_02_HandEdited(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t, "Add authentication", authAnswers)
	edited := strings.ReplaceAll(r.file(t, "docs/ARCHITECTURE_STATE.md"), "OAuth", "Nothing")
	r.write(t, "docs/ARCHITECTURE_STATE.md", edited)
	require.Equal(t, "OAuth", r.read(t).Architecture.Categories["Authentication"]["Strategy"])
	require.Equal(t, []string{"task"}, r.run(t, "Fix typo", nil).paths(), "a task changes no projection")
	require.Equal(t, edited, r.file(t, "docs/ARCHITECTURE_STATE.md"))
	r.write(t, "docs/ARCHITECTURE_STATE.md", "Our own words.\n")
	require.Equal(t, []string{"task"}, r.run(t, "Fix typo", nil).paths(), "nor one that does not say what it shows")
}

func TestRead_S3_READ_01_NoADR(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	empty := r.read(t)
	require.Equal(t, `{"status":"success","architecture":{"uid":null,"categories":{}},"source_file":"docs/ARCHITECTURE_STATE.md"}`, empty.text)
	require.Empty(t, r.names(t, "docs"))
	r.run(t, "Fix typo", nil)
	require.Equal(t, empty.text, r.read(t).text, "a task alone is no architecture")
}

func TestRead_S3_READ_02_03_ValuesAndNothingWritten(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	done := r.run(t, "Add authentication", authAnswers)
	before := hash(t, r.root)
	got := r.read(t)
	require.Equal(t, `{"status":"success","architecture":{"uid":"`+done.Created[0].UID+
		`","categories":{"Authentication":{"Library":"next-auth","Strategy":"OAuth"}}},"source_file":"docs/ARCHITECTURE_STATE.md"}`, got.text)
	require.Equal(t, before, hash(t, r.root))
	require.NoError(t, os.Remove(filepath.Join(r.root, "docs", "ARCHITECTURE_STATE.md")))
	require.Equal(t, got.text, r.read(t).text)
	require.NotContains(t, r.names(t, "docs"), "ARCHITECTURE_STATE.md", "not even what is missing is written")
}

func TestRead_S3_READ_04_Malformed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	done := r.run(t, "Add authentication", authAnswers)
	good := r.file(t, done.Created[0].Path)
	for name, text := range map[string]string{
		"garbage": "nonsense", "empty": "", "cut": good[:500],
		"another's": strings.ReplaceAll(good, done.Created[0].UID, "20200101T000000.000Z-A000"),
	} {
		r.write(t, done.Created[0].Path, text)
		broken := r.read(t)
		require.Equal(t, codeParse, broken.Error.Code, name)
		require.NotEmpty(t, broken.Error.Hint)
		require.True(t, broken.isError)
	}
}

func TestRead_Arguments(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, fail := r.try(t, "read_architecture", args{"repo_path": 1})
	require.Equal(t, int64(-32602), fail.Code)
	_, fail = r.try(t, "read_architecture", args{"path": "x"})
	require.Equal(t, int64(-32602), fail.Code)
}

func TestErrors_S3_ERR_03_LostCategory(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t, "Add a database", nil)
	second := r.run(t, "Add authentication", authAnswers)
	text := r.file(t, second.Created[0].Path)
	from, to := strings.Index(text, "### Database"), strings.Index(text, "### Authentication")
	r.write(t, second.Created[0].Path, text[:from]+text[to:])
	before := hash(t, r.root)
	for _, got := range []*answer{r.read(t), r.run(t, "Add a cache", nil)} {
		require.Equal(t, codeValidation, got.Error.Code)
		require.Equal(t, "ADR snapshot validation failed", got.Error.Message)
		require.Equal(t, map[string]any{"missing_keys": []any{"Database"}}, got.Error.Details)
		require.Equal(t, "Review previous ADR and retry", got.Error.Hint)
	}
	require.Equal(t, before, hash(t, r.root))
	require.Equal(t, []string{"task"}, r.run(t, "Fix typo", nil).paths(), "a task needs no architecture")
}
