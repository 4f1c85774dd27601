package sqlite

import (
	"context"
	"database/sql"
	"sync"
)

// statements keeps the queries of the readers compiled: to compile one takes
// SQLite about as long as to answer it. There are as many as there are sets of
// filters, a few dozen. They go with the connections.
type statements struct {
	mu     sync.Mutex
	byText map[string]*sql.Stmt
}

// of returns query compiled. Each connection compiles it when it first has it.
func (s *statements) of(ctx context.Context, reader *sql.DB, query string) (*sql.Stmt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stmt := s.byText[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := reader.PrepareContext(ctx, query) //nolint:sqlclosecheck // kept for the next caller
	if err != nil {
		return nil, err
	}
	if s.byText == nil {
		s.byText = map[string]*sql.Stmt{}
	}
	s.byText[query] = stmt
	return stmt, nil
}

// close forgets them all.
func (s *statements) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stmt := range s.byText {
		_ = stmt.Close() // its connections are closed
	}
	s.byText = nil
}
