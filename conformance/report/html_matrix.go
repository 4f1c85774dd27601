package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
)

// matrix compares several subjects check by check.
type matrix struct {
	Columns []matrixColumn
	Areas   []matrixArea
}

type matrixColumn struct {
	Name, Detail string
	Verdict      look
}

type matrixArea struct {
	Name string
	Span int
	Rows []matrixRow
}

type matrixRow struct {
	ID, Title string
	Level     conformance.Level
	Cells     []matrixCell
}

type matrixCell struct {
	look
	Link, Note string
}

// several fills the view of several reports.
func (v *view) several(reports []*conformance.Report) {
	v.Title = fmt.Sprintf("%s MCP conformance: %d subjects", v.Verdict.Sign, len(reports))
	v.Matrix = matrixOf(reports)
	failed := 0
	for i, r := range reports {
		if r.Verdict() == conformance.Failed {
			failed++
		}
		name := fmt.Sprintf("subject %d", i+1)
		v.Facts = append(v.Facts, fact{name, strings.Join(slices.DeleteFunc([]string{named(r.Target), subject(r.Target), sentence(r)}, func(s string) bool { return s == "" }), " · ")})
		groups, _ := groupsOf(r, fmt.Sprintf("s%d-", i+1))
		for _, g := range groups {
			g.Title = named(r.Target) + ": " + strings.ToLower(g.Title[:1]) + g.Title[1:]
			v.Groups = append(v.Groups, g)
		}
	}
	v.Sentence = fmt.Sprintf("%d of %d subjects failed.", failed, len(reports))
}

// matrixOf has a row for each check that ran anywhere, in the order of the reports, with
// its outcome in each revision run of each subject.
func matrixOf(reports []*conformance.Report) *matrix {
	m := &matrix{}
	all := columns(reports)
	type place struct{ area, id string }
	rows := map[place]int{}
	for at, c := range all {
		name, detail := columnName(c)
		m.Columns = append(m.Columns, matrixColumn{name, detail, verdictLook(c.report.Verdict())})
		prefix := fmt.Sprintf("s%d-", slices.Index(reports, c.report)+1)
		for i := range c.report.Results {
			res := &c.report.Results[i]
			if !shown(res) || versionOr(res.Revision, c.report.Target.Revision) != c.revision {
				continue
			}
			area := m.area(res.Area, len(all)+1)
			p := place{res.Area, res.ID}
			n, there := rows[p]
			if !there {
				n = len(area.Rows)
				rows[p] = n
				area.Rows = append(area.Rows, matrixRow{ID: res.ID, Title: res.Title, Level: res.Level, Cells: make([]matrixCell, len(all))})
			}
			area.Rows[n].Cells[at] = matrixCellOf(c.report, res, prefix)
		}
	}
	for i := range m.Areas {
		m.Areas[i].Rows = slices.DeleteFunc(m.Areas[i].Rows, func(row matrixRow) bool {
			return !slices.ContainsFunc(row.Cells, func(c matrixCell) bool { return c.Class != "" && c.Class != string(conformance.Skip) })
		})
	}
	m.Areas = slices.DeleteFunc(m.Areas, func(a matrixArea) bool { return len(a.Rows) == 0 })
	return m
}

// area returns the area of this name; it appends a new one if there is none.
func (m *matrix) area(name string, span int) *matrixArea {
	for i := range m.Areas {
		if m.Areas[i].Name == name {
			return &m.Areas[i]
		}
	}
	m.Areas = append(m.Areas, matrixArea{Name: name, Span: span})
	return &m.Areas[len(m.Areas)-1]
}

func matrixCellOf(r *conformance.Report, res *conformance.Result, prefix string) matrixCell {
	cell := matrixCell{look: lookOf(res.Status), Note: string(res.Baseline)}
	if reported(res) {
		cell.Link = "#" + anchor(r, res, prefix)
	}
	if res.Status == conformance.Skip {
		cell.Note = string(res.Reason)
	}
	return cell
}
