// Package migration reads the schema changes a back end embeds and says which
// of them a database needs. It runs nothing: the statements and the lock that
// keeps two processes apart are the back end's.
package migration

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A Migration is one step of a schema, there and back.
type Migration struct {
	Version  int
	Name     string
	Up, Down string
}

// Load reads the migrations of a folder. A step is two files,
// NNNN_name.up.sql and NNNN_name.down.sql; the numbers start at 1 and have no
// gaps.
func Load(folder fs.FS) ([]Migration, error) {
	files, err := fs.Glob(folder, "*.sql")
	if err != nil {
		return nil, err
	}
	byVersion := map[int]*Migration{}
	for _, file := range files {
		version, name, up, err := parseName(file)
		if err != nil {
			return nil, err
		}
		text, err := fs.ReadFile(folder, file)
		if err != nil {
			return nil, err
		}
		m := byVersion[version]
		if m == nil {
			m = &Migration{Version: version, Name: name}
			byVersion[version] = m
		}
		if m.Name != name {
			return nil, fmt.Errorf("migration %d has two names, %s and %s", version, m.Name, name)
		}
		if up {
			m.Up = string(text)
		} else {
			m.Down = string(text)
		}
	}
	return ordered(byVersion)
}

func parseName(file string) (version int, name string, up bool, err error) {
	base := strings.TrimSuffix(path.Base(file), ".sql")
	stem, direction, _ := strings.Cut(base, ".")
	number, name, ok := strings.Cut(stem, "_")
	version, convErr := strconv.Atoi(number)
	if !ok || name == "" || convErr != nil || direction != "up" && direction != "down" {
		return 0, "", false, fmt.Errorf("migration %s: the name is not NNNN_name.up.sql or NNNN_name.down.sql", file)
	}
	return version, name, direction == "up", nil
}

func ordered(byVersion map[int]*Migration) ([]Migration, error) {
	var steps []Migration
	for _, m := range byVersion {
		if m.Up == "" || m.Down == "" {
			return nil, fmt.Errorf("migration %d_%s: one of its two files is missing or empty", m.Version, m.Name)
		}
		steps = append(steps, *m)
	}
	slices.SortFunc(steps, func(a, b Migration) int { return cmp.Compare(a.Version, b.Version) })
	for i, m := range steps {
		if m.Version != i+1 {
			return nil, fmt.Errorf("migration %d_%s: step %d is missing", m.Version, m.Name, i+1)
		}
	}
	return steps, nil
}

// A Step is a statement to run and the version the schema has after it.
type Step struct {
	Version int
	Name    string
	SQL     string
	Up      bool
}

// Plan returns the steps from one version to another, upwards or downwards. A
// database that is ahead of every known migration belongs to a newer program:
// that is an error, in both directions.
func Plan(all []Migration, from, to int) ([]Step, error) {
	if from > len(all) {
		return nil, fmt.Errorf("the database has schema version %d, this program knows versions up to %d: use a newer program", from, len(all))
	}
	if to < 0 || to > len(all) {
		return nil, fmt.Errorf("there is no schema version %d, only 0 to %d", to, len(all))
	}
	var steps []Step
	for v := from; v < to; v++ {
		steps = append(steps, Step{Version: v + 1, Name: all[v].Name, SQL: all[v].Up, Up: true})
	}
	for v := from; v > to; v-- {
		steps = append(steps, Step{Version: v - 1, Name: all[v-1].Name, SQL: all[v-1].Down})
	}
	return steps, nil
}

// Failed says which step err stopped.
func (s Step) Failed(err error) error {
	direction := "down to"
	if s.Up {
		direction = "up to"
	}
	return fmt.Errorf("migration %s %d (%s): %w", direction, s.Version, s.Name, err)
}
