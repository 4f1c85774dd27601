package knowledge

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	_ "modernc.org/sqlite" // the driver "sqlite", with FTS5
)

// An Index searches a base. It may be used by any number of callers at once.
type Index struct {
	Base *Base

	db *sql.DB
	// languages are those of the texts.
	languages []*language
	// known is how many entries have a word.
	known map[string]int
}

// The weights of the columns: a word in a heading says more than one in a text.
const (
	titleWeight   = 2.0
	headingWeight = 3.0
	bodyWeight    = 1.0
)

// Open makes an index of a base, in memory. The caller closes it.
func Open(ctx context.Context, b *Base) (_ *Index, err error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, fmt.Errorf("knowledge: %w", err)
	}
	db.SetMaxOpenConns(1) // the connection is the database
	x := &Index{Base: b, db: db, known: map[string]int{}}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("knowledge: %w", err), db.Close())
		}
	}()
	// The words are split, stemmed and folded by us: the tokenizer only reads
	// what stands between blanks.
	if _, err := db.ExecContext(ctx, `CREATE VIRTUAL TABLE entry USING fts5(title, heading, body, tokenize = "unicode61 remove_diacritics 0 categories 'L* N* Co M*'");
		CREATE VIRTUAL TABLE word USING fts5vocab(entry, row)`); err != nil {
		return nil, err
	}
	if err := x.fill(ctx); err != nil {
		return nil, err
	}
	return x, x.count(ctx)
}

// Close releases the index.
func (x *Index) Close() error { return x.db.Close() }

// fill writes every entry. The row of an entry is its place in the base.
func (x *Index) fill(ctx context.Context) (err error) {
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	insert, err := tx.PrepareContext(ctx, `INSERT INTO entry(rowid, title, heading, body) VALUES (?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	defer insert.Close() //nolint:errcheck // it ends with the transaction
	used := map[*language]bool{}
	for i := 0; i < len(x.Base.Entries); {
		end := i + 1 // the entries of one file are in one language
		for end < len(x.Base.Entries) && x.Base.Entries[end].File == x.Base.Entries[i].File {
			end++
		}
		file := x.Base.Entries[i:end]
		var all []string
		for j := range file {
			all = append(all, words(file[j].body(), false)...)
		}
		l := languageOf(all)
		used[l] = true
		for j := range file {
			e := &file[j]
			if _, err := insert.ExecContext(ctx, i+j, l.text(e.Title), l.text(e.heading()), l.text(e.body())); err != nil {
				return err
			}
		}
		i = end
	}
	for _, l := range append([]*language{nil}, languages...) {
		if used[l] {
			x.languages = append(x.languages, l)
		}
	}
	return tx.Commit()
}

// text is a text as the index has it.
func (l *language) text(text string) string {
	var b strings.Builder
	for _, w := range words(text, true) {
		b.WriteString(l.stemmed(w))
		b.WriteByte(' ')
	}
	return b.String()
}

// heading is what says what an entry is about.
func (e *Entry) heading() string { return e.Section + "\n" + strings.Join(e.Keywords, "\n") }

// body is what an entry says.
func (e *Entry) body() string {
	parts := []string{e.Answer, e.Quote, e.Uncertainty}
	if e.Guidance != nil {
		parts = append(parts, e.Guidance.Implementation, e.Guidance.Animation, e.Guidance.Accessibility)
		parts = append(parts, slices.Sorted(maps.Values(e.Guidance.Examples))...)
	}
	return strings.Join(append(parts, e.Related...), "\n")
}

// count reads how many entries have each word.
func (x *Index) count(ctx context.Context) (err error) {
	rows, err := x.db.QueryContext(ctx, `SELECT term, doc FROM word`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Err(), rows.Close()) }()
	for rows.Next() {
		var term string
		var n int
		if err := rows.Scan(&term, &n); err != nil {
			return err
		}
		x.known[term] = n
	}
	return nil
}

// rarity is the weight of a word that n entries have: rare words say more.
func (x *Index) rarity(n int) float64 {
	all := float64(len(x.Base.Entries))
	return math.Log(1 + (all-float64(n)+0.5)/(float64(n)+0.5))
}

// A row is an entry that the index found.
type row struct {
	id                   int
	title, heading, body string
	score                float64
}

// find returns the best entries for an expression of FTS5.
func (x *Index) find(ctx context.Context, expression string, most int) (_ []row, err error) {
	conn, err := x.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	// An interrupted query could cost the connection, which is the database.
	rows, err := conn.QueryContext(context.WithoutCancel(ctx), `SELECT rowid, title, heading, body, bm25(entry, ?, ?, ?) AS score
		FROM entry WHERE entry MATCH ? ORDER BY score LIMIT ?`, titleWeight, headingWeight, bodyWeight, expression, most)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Err(), rows.Close()) }()
	var out []row
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.id, &r.title, &r.heading, &r.body, &r.score); err != nil {
			return nil, err
		}
		r.score = -r.score // SQLite's is the lower the better
		out = append(out, r)
	}
	return out, nil
}
