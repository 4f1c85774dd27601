package preflights

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKill_NextSessionRepairs: a process was killed while it wrote the second
// of two sessions, at each place where that leaves something.
func TestKill_NextSessionRepairs(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		stale   []string // documents that are still as before
		archive bool     // the old task has been archived
	}{
		"after the ADR":     {[]string{"CURRENT_TASK.md", "ARCHITECTURE_STATE.md"}, false},
		"after the archive": {[]string{"CURRENT_TASK.md", "ARCHITECTURE_STATE.md"}, true},
		"after the task":    {[]string{"ARCHITECTURE_STATE.md"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.run(t, "Add a database", nil)
			before := map[string]string{}
			for _, doc := range tt.stale {
				before[doc] = r.file(t, "docs/"+doc)
			}
			old := r.file(t, "docs/CURRENT_TASK.md")
			second := r.run(t, "Add authentication", authAnswers)
			projection := r.file(t, "docs/ARCHITECTURE_STATE.md")
			for doc, text := range before {
				r.write(t, "docs/"+doc, text)
			}
			if !tt.archive {
				require.NoError(t, os.RemoveAll(filepath.Join(r.root, "docs", "archive")))
			}
			left := []string{"docs/.CURRENT_TASK.md.tmp", "docs/adr/.x.md.tmp", "docs/archive/task/.x.md.tmp"}
			for _, temp := range left {
				r.write(t, temp, "a part")
			}
			r.write(t, "docs/adr/.notes.tmp", "somebody's")
			folder := filepath.Join(r.root, "docs", ".folder.md.tmp")
			require.NoError(t, os.Mkdir(folder, 0o755))

			require.Equal(t, second.Created[0].UID, *r.read(t).Architecture.UID, "what was decided is decided")
			next := r.run(t, "Fix typo", nil)
			require.Equal(t, []string{"task", "projection"}, next.paths())
			require.Equal(t, projection, r.file(t, "docs/ARCHITECTURE_STATE.md"))
			archived := r.names(t, "docs/archive/task")
			var texts []string
			for _, name := range archived {
				texts = append(texts, r.file(t, "docs/archive/task/"+name))
			}
			require.Contains(t, texts, old, "no task is lost")
			for _, temp := range left {
				require.NoFileExists(t, filepath.Join(r.root, temp))
			}
			require.Equal(t, "somebody's", r.file(t, "docs/adr/.notes.tmp"))
			require.DirExists(t, folder)
			require.NotContains(t, strings.Join(r.names(t, "docs/adr"), " "), ".md.tmp")
			third := r.run(t, "Add a cache", nil)
			require.Contains(t, r.file(t, third.Created[0].Path), "**Previous UID:** "+second.Created[0].UID)
		})
	}
}
