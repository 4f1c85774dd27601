package postgres

import (
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

// TestIsolation_S0_IDAPI_09 has the tables themselves refuse what is written in
// a transaction that is not serializable.
func TestIsolation_S0_IDAPI_09(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	st := openAt(t, schemaURL(t, "pool_max_conns", "4"))
	_, err := st.db.pool.Exec(ctx, `CREATE FUNCTION only_serializable() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			IF current_setting('transaction_isolation') <> 'serializable' THEN
				RAISE EXCEPTION 'written %', current_setting('transaction_isolation');
			END IF;
			RETURN NEW;
		END $$;
		CREATE TRIGGER t BEFORE UPDATE ON id_registry FOR EACH ROW EXECUTE FUNCTION only_serializable();
		CREATE TRIGGER t BEFORE INSERT ON id_reservations FOR EACH ROW EXECUTE FUNCTION only_serializable();
		CREATE TRIGGER t BEFORE UPDATE ON task_sequence FOR EACH ROW EXECUTE FUNCTION only_serializable();
		CREATE TRIGGER t BEFORE INSERT ON tasks FOR EACH ROW EXECUTE FUNCTION only_serializable();
		CREATE TRIGGER t BEFORE INSERT ON idempotency_keys FOR EACH ROW EXECUTE FUNCTION only_serializable();`)
	require.NoError(t, err)
	_, err = st.NextID(ctx, "p", "US", time.Now())
	require.NoError(t, err)
	_, err = st.ReserveIDs(ctx, store.ReserveRequest{Project: "p", Type: "US", Count: 2, Key: store.Key{Value: "k"}})
	require.NoError(t, err)
	_, err = st.AddTasks(ctx, store.Batch{Project: "p", Tasks: []store.NewTask{{ArtifactID: "HLS-001", Status: store.Pending}}, Key: store.Key{Value: "k"}})
	require.NoError(t, err)
	err = st.db.plain(ctx, func(tx *transaction) error {
		_, err := advance(ctx, tx, "p", "US", 1, time.Now())
		return err
	})
	require.ErrorContains(t, err, "written read committed", "the triggers see")
}

// TestSettings has no setting among the start-up parameters, which a pooler in
// front of the server may refuse, and all of them in force.
func TestSettings(t *testing.T) {
	t.Parallel()
	st := openAt(t, schemaURL(t, "pool_max_conns", "4"))
	for _, name := range []string{"enable_seqscan", "jit"} {
		require.NotContains(t, st.db.pool.Config().ConnConfig.RuntimeParams, name)
		var value string
		require.NoError(t, st.db.pool.QueryRow(t.Context(), `SELECT current_setting($1)`, name).Scan(&value))
		require.Equal(t, "off", value)
	}
}

// TestExhausted comes to the end of a sequence.
func TestExhausted(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	st := openAt(t, schemaURL(t, "pool_max_conns", "4"))
	_, err := st.NextID(ctx, "p", "US", time.Now())
	require.NoError(t, err)
	_, err = st.db.pool.Exec(ctx, `UPDATE id_registry SET last_assigned_id = $1`, math.MaxInt32-2)
	require.NoError(t, err)
	_, err = st.ReserveIDs(ctx, store.ReserveRequest{Project: "p", Type: "US", Count: 3})
	require.ErrorIs(t, err, store.ErrExhausted)
	res, err := st.ReserveIDs(ctx, store.ReserveRequest{Project: "p", Type: "US", Count: 2})
	require.NoError(t, err)
	require.Equal(t, []string{"US-2147483646", "US-2147483647"}, res.IDs)
	_, err = st.NextID(ctx, "p", "US", time.Now())
	require.ErrorIs(t, err, store.ErrExhausted)
}

// TestKeyTaken_S0_IDAPI_09 has another process answer under a key between the
// moment this one finds nothing under it and the moment it writes: the other's
// answer is this one's, too, and its own rows are not there (C-23).
func TestKeyTaken_S0_IDAPI_09(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := schemaURL(t, "pool_max_conns", "4")
	one, other := openAt(t, url), openAt(t, url)
	now := time.Now()
	key := store.Key{Value: "k", Fingerprint: "f"}
	theirs := store.ReserveRequest{ID: uuid.New(), Project: "theirs", Type: "US", Count: 2, Now: now, ExpiresAt: now.Add(time.Hour), Key: key}
	ours := theirs
	ours.ID, ours.Project = uuid.New(), "ours"
	for _, st := range []*Store{one, other} { // both sequences are there
		for _, project := range []string{theirs.Project, ours.Project} {
			_, err := st.NextID(ctx, project, "US", now)
			require.NoError(t, err)
		}
	}
	var first store.Reservation
	runs := 0
	got, err := answered(ctx, one.db, "lock", store.ScopeIDsReserve, key, now, func(tx *transaction) (store.Reservation, error) {
		if runs++; runs == 1 {
			var err error
			if first, err = other.ReserveIDs(ctx, theirs); err != nil {
				return first, err
			}
		}
		last, err := advance(ctx, tx, ours.Project, ours.Type, ours.Count, now)
		if err != nil {
			return store.Reservation{}, err
		}
		res := ours.Reserved(last)
		queueReservation(tx, res, now)
		return res, nil
	})
	require.NoError(t, err)
	require.Equal(t, theirs.ID, first.ID)
	require.Equal(t, first, got)
	require.Positive(t, runs)
	a, err := one.NextID(ctx, ours.Project, "US", now)
	require.NoError(t, err)
	require.Equal(t, "US-003", a.ID, "what we took is given back")
}
