package document_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

const minimal = `{"schema_name":"DoclingDocument","name":"x"`

func TestDecodeRefuses_S2_EXP_05(t *testing.T) {
	t.Parallel()
	text := func(fields string) string {
		return minimal + `,"body":{"self_ref":"#/body","children":[{"$ref":"#/texts/0"}]},"texts":[{"self_ref":"#/texts/0","parent":{"$ref":"#/body"},` + fields + `}]}`
	}
	table := func(data string) string {
		return minimal + `,"body":{"self_ref":"#/body","children":[{"$ref":"#/tables/0"}]},"tables":[{"self_ref":"#/tables/0","parent":{"$ref":"#/body"},"data":` + data + `}]}`
	}
	cell := `{"text":"a","start_row_offset_idx":0,"end_row_offset_idx":1,"start_col_offset_idx":0,"end_col_offset_idx":1}`
	for name, tt := range map[string]struct {
		json string
		want error
	}{
		"good text":       {text(`"label":"text","orig":"a","text":"a"`), nil},
		"good table":      {table(`{"num_rows":1,"num_cols":1,"table_cells":[` + cell + `],"grid":[[` + cell + `]]}`), nil},
		"nothing":         {``, document.ErrInvalid},
		"half":            {minimal, document.ErrInvalid},
		"a list":          {`[]`, document.ErrInvalid},
		"null":            {`null`, document.ErrSchema},
		"other schema":    {`{"schema_name":"Letter","name":"x"}`, document.ErrSchema},
		"no schema":       {`{"name":"x"}`, document.ErrSchema},
		"no name":         {`{"schema_name":"DoclingDocument"}`, document.ErrSchema},
		"later version":   {minimal + `,"version":"1.11.0"}`, document.ErrSchema},
		"next major":      {minimal + `,"version":"2.0.0"}`, document.ErrSchema},
		"null item":       {minimal + `,"texts":[null]}`, document.ErrInvalid},
		"null group":      {minimal + `,"groups":[null]}`, document.ErrInvalid},
		"unknown key":     {text(`"label":"text","orig":"a","text":"a","colour":"red"`), document.ErrInvalid},
		"no label":        {text(`"orig":"a","text":"a"`), document.ErrInvalid},
		"no orig":         {text(`"label":"text","text":"a"`), document.ErrInvalid},
		"number for text": {text(`"label":"text","orig":"a","text":1`), document.ErrInvalid},
		"odd layer":       {text(`"label":"text","orig":"a","text":"a","content_layer":"roof"`), document.ErrInvalid},
		"dangling":        {minimal + `,"body":{"self_ref":"#/body","children":[{"$ref":"#/texts/0"}]}}`, document.ErrInvalid},
		"cycle":           {minimal + `,"groups":[{"self_ref":"#/groups/0","parent":{"$ref":"#/groups/1"},"children":[{"$ref":"#/groups/1"}]},{"self_ref":"#/groups/1","parent":{"$ref":"#/groups/0"},"children":[{"$ref":"#/groups/0"}]}]}`, document.ErrInvalid},
		"grid":            {table(`{"num_rows":1,"num_cols":1,"table_cells":[],"grid":[[` + cell + `]]}`), document.ErrInvalid},
		"short grid":      {table(`{"num_rows":2,"num_cols":1,"table_cells":[` + cell + `],"grid":[[` + cell + `]]}`), document.ErrInvalid},
		"huge grid":       {table(`{"num_rows":2000000000,"num_cols":2000000000,"table_cells":[]}`), document.ErrTooLarge},
		"covering cells":  {table(`{"num_rows":300,"num_cols":300,"table_cells":[` + strings.Repeat(`{"text":"a","start_row_offset_idx":0,"end_row_offset_idx":300,"start_col_offset_idx":0,"end_col_offset_idx":300},`, 3) + cell + `]}`), document.ErrInvalid},
		"repeated text":   {table(`{"num_rows":300,"num_cols":300,"table_cells":[{"text":"` + strings.Repeat("a", 500) + `","start_row_offset_idx":0,"end_row_offset_idx":300,"start_col_offset_idx":0,"end_col_offset_idx":300}]}`), document.ErrTooLarge},
		"deep JSON":       {minimal + `,"extra":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, document.ErrTooLarge},
		"page twice":      {minimal + `,"pages":{"1":{"page_no":1,"size":{"width":1,"height":1}},"2":{"page_no":1,"size":{"width":1,"height":1}}}}`, document.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := document.Decode([]byte(tt.json))
			if tt.want == nil {
				require.NoError(t, err)
				require.NoError(t, document.CheckStructure(d))
				return
			}
			require.ErrorIs(t, err, tt.want)
		})
	}
}

func TestManyNodesAreRefused(t *testing.T) {
	t.Parallel()
	list := strings.Repeat(`{},`, document.MaxNodes) + `{}`
	_, err := document.Decode([]byte(minimal + `,"groups":[` + list + `]}`))
	require.ErrorIs(t, err, document.ErrTooLarge)
}

// What other writers add is kept: metadata without its nulls, annotations, forms.
func TestDecodeKeeps_S2_EXP_04(t *testing.T) {
	t.Parallel()
	source := minimal + `,"version":"1.3.0","later":{"key":1},"body":{"self_ref":"#/body","children":[{"$ref":"#/pictures/0"},{"$ref":"#/form_items/0"},{"$ref":"#/texts/0"}]},
"texts":[{"self_ref":"#/texts/0","parent":{"$ref":"#/body"},"label":"code","orig":"x","text":"x","code_language":"Go","formatting":{"bold":true}}],
"pictures":[{"self_ref":"#/pictures/0","parent":{"$ref":"#/body"},"label":"picture","meta":{"summary":{"text":"s","confidence":0.10,"created_by":null}},"annotations":[{"kind":"misc","content":{}}]}],
"form_items":[{"self_ref":"#/form_items/0","parent":{"$ref":"#/body"},"label":"form","graph":{"cells":[],"links":[]},"captions":[]}]}`
	d, err := document.Decode([]byte(source))
	require.NoError(t, err)
	out, err := document.Encode(d, 0)
	require.NoError(t, err)
	for _, want := range []string{
		`"meta":{"summary":{"confidence":0.10,"text":"s"}}`, `"annotations":[{"content":{},"kind":"misc"}]`, `"graph":{"cells":[],"links":[]}`,
		`"code_language":"Go"`, `"script":"baseline"`, `"version":"1.3.0"`, `"captions":[]`,
	} {
		require.Contains(t, string(out), want)
	}
	require.NotContains(t, string(out), "null")
	again, err := document.Decode(out)
	require.NoError(t, err)
	require.Equal(t, d, again)
	marshalled, err := json.Marshal(d)
	require.NoError(t, err)
	require.Equal(t, string(out), string(marshalled))
}

func TestFirstVersionHadNoLayers(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]document.Layer{"1.0.0": document.LayerFurniture, "1.1.0": document.LayerBody} {
		d, err := document.Decode(fmt.Appendf(nil, `%s,"version":%q,"body":{"self_ref":"#/body","children":[{"$ref":"#/texts/0"}]},"texts":[{"self_ref":"#/texts/0","parent":{"$ref":"#/body"},"label":"page_footer","orig":"1","text":"1"}]}`, minimal, version))
		require.NoError(t, err)
		require.Equal(t, want, d.Texts[0].Layer)
	}
}

// What is read is sound, and is read again from what is written of it.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(minimal + `}`))
	for _, name := range []string{"../export/testdata/every.json", "../office/testdata/golden/talk.pptx.json", "../office/testdata/golden/budget.xlsx.json"} {
		data, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := document.Decode(data)
		if err != nil {
			return
		}
		require.NoError(t, document.CheckStructure(d))
		out, err := document.Encode(d, 2)
		require.NoError(t, err)
		again, err := document.Decode(out)
		require.NoError(t, err)
		second, err := document.Encode(again, 2)
		require.NoError(t, err)
		require.Equal(t, string(out), string(second))
	})
}
