package office_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/xuri/excelize/v2"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/office"
)

// Charts that keep no copy of their data have it from the cells they refer to, of
// any sheet.
func TestChartsThatRefer(t *testing.T) {
	t.Parallel()
	f := excelize.NewFile()
	_, err := f.NewSheet("It's data")
	require.NoError(t, err)
	for cell, value := range map[string]any{"A1": "Quarter", "B1": "North", "C1": "South", "A2": "Q1", "A3": "Q2", "B2": 7, "C2": 8, "B3": 9} {
		require.NoError(t, f.SetCellValue("It's data", cell, value))
	}
	require.NoError(t, f.SetCellValue("Sheet1", "A1", "Charts"))
	chart := &excelize.Chart{Type: excelize.Col, Title: excelize.ChartTitle{Paragraph: []excelize.RichTextRun{{Text: "Sales"}}}, Series: []excelize.ChartSeries{
		{Name: "'It''s data'!$B$1", Categories: "'It''s data'!$A$2:$A$3", Values: "'It''s data'!$B$2:$B$3"},
		{Name: "'It''s data'!$C$1", Categories: "'It''s data'!$A$2:$A$3", Values: "'It''s data'!$C$2:$C$3"},
	}}
	require.NoError(t, f.AddChart("Sheet1", "C3", chart))
	chart.Title, chart.Series = excelize.ChartTitle{Paragraph: []excelize.RichTextRun{{Text: "Nowhere"}}}, []excelize.ChartSeries{{Values: "'[other.xlsx]Data'!$B$2:$B$3"}}
	require.NoError(t, f.AddChart("Sheet1", "C30", chart))
	chart.Title, chart.Series = excelize.ChartTitle{Paragraph: []excelize.RichTextRun{{Text: "A sheet"}}}, []excelize.ChartSeries{{Values: "'It''s data'!$B$2:$B$3"}}
	require.NoError(t, f.AddChartSheet("Chart", chart))
	var out bytes.Buffer
	require.NoError(t, f.Write(&out))
	require.NoError(t, f.Close())
	d, err := office.XLSX(t.Context(), out.Bytes(), "x.xlsx", office.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{
		"sheet", "  table [Charts]", "  table [] [North] [South] [Q1] [7] [8] [Q2] [9] []", "    caption: Sales", "  picture", "    caption: Nowhere",
		"sheet", "  table [Quarter] [North] [South] [Q1] [7] [8] [Q2] [9]",
		"sheet", "  table [] [7] [9]", "    caption: A sheet",
	}, outline(d))
	require.Equal(t, []string{"1 chart was dropped: its data are not in the file."}, d.Dropped)
}
