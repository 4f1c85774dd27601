package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
	"github.com/mainstay-mcp/mainstay/auth/internal/store"
)

// secret is in every field of a record that hides something.
const secret = "PLANTED"

var (
	someone = store.Key{Issuer: "https://as.example/", Resource: "https://mcp.example/mcp", ClientID: "c1", Principal: "ann"}
	moment  = time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)
)

func full() store.Record {
	return store.Record{
		Token: grant.Token{
			Access: grant.Hide(secret + "-access"), Type: "Bearer", Refresh: grant.Hide(secret + "-refresh"), IDToken: grant.Hide(secret + "-id"),
			IssuedType: "urn:ietf:params:oauth:token-type:access_token", Scope: "a b", Expiry: moment,
		},
		Client: grant.Registered{
			ClientID: "c1", ClientSecret: grant.Hide(secret + "-client"), Method: grant.MethodBasic, IssuedAt: moment, ExpiresAt: moment,
			Scope: "a b c", RedirectURIs: []string{"http://127.0.0.1:1/cb"}, GrantTypes: []string{"refresh_token"}, DPoPBound: true,
			ManagementURI: "https://as.example/register/c1", ManagementToken: grant.Hide(secret + "-management"),
		},
		Server: store.Server{
			TokenURL: "https://as.example/token", RevocationURL: "https://as.example/revoke",
			TokenAuthMethods: []string{grant.MethodBasic}, TokenAuthAlgs: []string{"ES256"}, Resource: "https://mcp.example/mcp",
			Metadata: "https://mcp.example/.well-known/oauth-protected-resource/mcp", PrivateNetwork: true,
		},
		Scopes: []string{"a", "b"}, Proof: grant.Hide(secret + "-proof"), Ended: "invalid_grant", Login: "l1", Obtained: moment,
	}
}

// put replaces a record.
func put(r store.Record) func(store.Record) (store.Record, error) {
	return func(store.Record) (store.Record, error) { return r, nil }
}

// eachStore runs a test with every kind of store. open opens the same store again, as another
// process would; a store in memory is the same one.
func eachStore(t *testing.T, test func(t *testing.T, open func() store.Store)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		m := store.NewMemory()
		test(t, func() store.Store { return m })
	})
	t.Run("file", func(t *testing.T) {
		dir := t.TempDir() + "/tokens"
		test(t, func() store.Store {
			s, err := store.NewFile(dir)
			require.NoError(t, err)
			return s
		})
	})
	t.Run("sealed", func(t *testing.T) {
		dir := t.TempDir() + "/tokens"
		test(t, func() store.Store {
			s, err := store.NewSealed(dir, key('k'))
			require.NoError(t, err)
			return s
		})
	})
}

// key is a key of 32 bytes.
func key(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

func TestStoreKeepsRecords(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() store.Store) {
		ctx := t.Context()
		s := open()
		_, err := s.Load(ctx, someone)
		require.ErrorIs(t, err, store.ErrNotFound)
		keys, err := s.List(ctx)
		require.NoError(t, err)
		require.Empty(t, keys)

		require.NoError(t, s.Update(ctx, someone, func(r store.Record) (store.Record, error) {
			require.Equal(t, store.Record{}, r)
			return full(), nil
		}))
		want := full()
		want.Generation = 1
		got, err := open().Load(ctx, someone)
		require.NoError(t, err)
		require.Equal(t, want, got)

		got.Scopes[0] = "changed by a caller"
		require.NoError(t, s.Update(ctx, someone, func(r store.Record) (store.Record, error) {
			require.Equal(t, want, r)
			r.Token.Access.Set("next")
			r.Generation = 77
			return r, nil
		}))
		got, err = open().Load(ctx, someone)
		require.NoError(t, err)
		require.Equal(t, "next", got.Token.Access.Text())
		require.EqualValues(t, 2, got.Generation, "the store counts")

		require.NoError(t, s.Delete(ctx, someone))
		require.NoError(t, s.Delete(ctx, someone), "there may be none")
		_, err = open().Load(ctx, someone)
		require.ErrorIs(t, err, store.ErrNotFound)
	})
}

func TestStoreWritesOnlyChanges(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() store.Store) {
		ctx := t.Context()
		s := open()
		unchanged := func(r store.Record) (store.Record, error) { return r, nil }
		require.NoError(t, s.Update(ctx, someone, unchanged))
		_, err := s.Load(ctx, someone)
		require.ErrorIs(t, err, store.ErrNotFound, "nothing was put in")

		require.NoError(t, s.Update(ctx, someone, put(full())))
		require.NoError(t, s.Update(ctx, someone, unchanged))
		failed := errors.New("no")
		require.ErrorIs(t, s.Update(ctx, someone, func(r store.Record) (store.Record, error) {
			r.Token.Access.Set("half done")
			return r, failed
		}), failed)
		require.Panics(t, func() {
			_ = s.Update(ctx, someone, func(store.Record) (store.Record, error) { panic("in a refresh") })
		})
		want := full()
		want.Generation = 1
		got, err := s.Load(ctx, someone)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

func TestStoreKeepsKeysApart(t *testing.T) {
	other := func(change func(*store.Key)) store.Key {
		k := someone
		change(&k)
		return k
	}
	keys := []store.Key{
		someone,
		other(func(k *store.Key) { k.Issuer = "https://as.example" }),
		other(func(k *store.Key) { k.Issuer = "https://AS.example/" }),
		other(func(k *store.Key) { k.Resource = "https://mcp.example/" }),
		other(func(k *store.Key) { k.ClientID = "c2" }),
		other(func(k *store.Key) { k.Principal = "" }),
		other(func(k *store.Key) { k.ClientID, k.Principal = "c", "1ann" }),
		other(func(k *store.Key) { k.Principal = "../../etc/passwd" }),
		other(func(k *store.Key) { k.Principal = strings.Repeat("ä\x00", 5000) }),
		{},
	}
	eachStore(t, func(t *testing.T, open func() store.Store) {
		s := open()
		for i, key := range keys {
			require.NoError(t, s.Update(t.Context(), key, put(store.Record{Login: fmt.Sprint(i)})))
		}
		for i, key := range keys {
			r, err := s.Load(t.Context(), key)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(i), r.Login)
		}
		listed, err := s.List(t.Context())
		require.NoError(t, err)
		require.ElementsMatch(t, keys, listed)
		again, err := s.List(t.Context())
		require.NoError(t, err)
		require.Equal(t, listed, again, "sorted")
	})
}

// TestUpdateIsALease: a running Update locks its key, and no other key.
func TestUpdateIsALease(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() store.Store) {
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			one, two := open(), open()
			require.NoError(t, one.Update(ctx, someone, put(full())))
			inside, leave := make(chan struct{}), make(chan struct{})
			var wg sync.WaitGroup
			wg.Go(func() {
				err := one.Update(ctx, someone, func(r store.Record) (store.Record, error) {
					close(inside)
					<-leave
					r.Token.Refresh.Set("rotated")
					return r, nil
				})
				require.NoError(t, err)
			})
			<-inside

			for name, s := range map[string]store.Store{"the same": one, "another": two} {
				short, cancel := context.WithTimeout(ctx, time.Second)
				err := s.Update(short, someone, put(store.Record{}))
				require.ErrorIs(t, err, context.DeadlineExceeded, name)
				cancel()
				require.ErrorIs(t, s.Delete(short, someone), context.DeadlineExceeded, name)
				r, err := s.Load(ctx, someone)
				require.NoError(t, err)
				require.Equal(t, full().Token, r.Token, "Load does not wait")
				free := someone
				free.Principal = "bob"
				require.NoError(t, s.Update(ctx, free, put(full())), "another key is free")
			}
			for _, s := range []store.Store{one, two} {
				wg.Go(func() {
					require.NoError(t, s.Update(ctx, someone, func(r store.Record) (store.Record, error) {
						require.Equal(t, "rotated", r.Token.Refresh.Text())
						return r, nil
					}))
				})
			}
			time.Sleep(time.Minute)
			close(leave)
			wg.Wait()
		})
	})
}

// TestUpdateOutlivesItsContext: a rotated refresh token is stored although the caller has left.
func TestUpdateOutlivesItsContext(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() store.Store) {
		s := open()
		ctx, cancel := context.WithCancel(t.Context())
		require.NoError(t, s.Update(ctx, someone, func(store.Record) (store.Record, error) {
			cancel()
			return full(), nil
		}))
		_, err := s.Load(ctx, someone)
		require.ErrorIs(t, err, context.Canceled)
		_, err = s.List(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, s.Update(ctx, someone, put(store.Record{})), context.Canceled)
		require.ErrorIs(t, s.Delete(ctx, someone), context.Canceled)
		r, err := s.Load(t.Context(), someone)
		require.NoError(t, err)
		require.Equal(t, full().Token, r.Token)
	})
}

func TestUpdatesOfManyGoroutines(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() store.Store) {
		synctest.Test(t, func(t *testing.T) {
			const each, goroutines = 10, 10
			stores := []store.Store{open(), open()}
			var wg sync.WaitGroup
			for i := range goroutines {
				wg.Go(func() {
					for range each {
						require.NoError(t, stores[i%2].Update(t.Context(), someone, func(r store.Record) (store.Record, error) {
							r.Scopes = append(r.Scopes, fmt.Sprint(len(r.Scopes)))
							return r, nil
						}))
					}
				})
			}
			wg.Wait()
			r, err := stores[0].Load(t.Context(), someone)
			require.NoError(t, err)
			require.Len(t, r.Scopes, each*goroutines)
			require.EqualValues(t, each*goroutines, r.Generation)
			for i, scope := range r.Scopes {
				require.Equal(t, fmt.Sprint(i), scope)
			}
		})
	})
}

// TestNothingShowsSecrets prints all types in every form.
func TestNothingShowsSecrets(t *testing.T) {
	r := full()
	m := store.NewMemory()
	require.NoError(t, m.Update(t.Context(), someone, put(r)))
	file, err := store.NewFile(t.TempDir() + "/tokens")
	require.NoError(t, err)
	require.NoError(t, file.Update(t.Context(), someone, put(r)))
	for _, value := range []any{
		r, &r, r.Token, &r.Token, r.Client, &r.Client,
		[]store.Record{r},
		map[string]store.Record{"a": r},
		struct{ R store.Record }{r},
		m, file,
		struct{ m *store.Memory }{m},
		&store.WriteError{Path: "p", Err: errors.New("disk full")},
	} {
		var out strings.Builder
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
			fmt.Fprintf(&out, verb+"\n", value)
		}
		slog.New(slog.NewTextHandler(&out, nil)).Info("m", "value", value)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "value", value)
		text, err := json.Marshal(value)
		require.NoError(t, err)
		out.Write(text)
		require.NotContains(t, out.String(), secret)
		require.NotContains(t, out.String(), fmt.Sprintf("%x", secret))
		require.NotContains(t, out.String(), fmt.Sprintf("%X", secret))
		require.NotContains(t, out.String(), fmt.Sprintf("%d", []byte(secret)))
	}
}

// hasAll fails if a field of v is zero, at any depth.
func hasAll(t *testing.T, name string, v reflect.Value) {
	t.Helper()
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	require.False(t, v.IsZero(), "%s is not set: what nobody sets is not compared", name)
	switch v.Interface().(type) {
	case time.Time, grant.Secret:
		return
	}
	if v.Kind() == reflect.Struct {
		for i := range v.NumField() {
			hasAll(t, name+"."+v.Type().Field(i).Name, v.Field(i))
		}
	}
}

func TestEncodingIsWhole(t *testing.T) {
	want := full()
	want.Generation = 9
	want.Refused = map[string]time.Time{"https://a.example/mcp": moment}
	want.Pending = &store.Pending{
		Page: grant.Hide("page"), OpenBefore: moment, State: grant.Hide("state"), Verifier: grant.Hide("verifier"), Redirect: "http://127.0.0.1:1/cb",
		IssuerSent: true, Asked: "a", Expires: moment, Client: want.Client, Server: want.Server, Scopes: []string{"a"}, Proof: grant.Hide("proof"),
	}
	hasAll(t, "Record", reflect.ValueOf(want))
	text, err := want.Encode(someone)
	require.NoError(t, err)
	key, got, err := store.Decode(text)
	require.NoError(t, err)
	require.Equal(t, someone, key)
	require.Equal(t, want, got)
	require.Error(t, json.Unmarshal([]byte(`"text"`), &got), "a record cannot be read back from what is shown")
}

func FuzzDecode(f *testing.F) {
	text, err := full().Encode(someone)
	require.NoError(f, err)
	f.Add(text)
	f.Add([]byte(`{"version":1,"generation":1e9,"scopes":null,"token":{"expiry":"9999-12-31T23:59:59Z"}}`))
	f.Add([]byte(`{"version":2}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, text []byte) {
		key, r, err := store.Decode(text)
		if err != nil {
			require.LessOrEqual(t, len(err.Error()), 100)
			return
		}
		written, err := r.Encode(key)
		require.NoError(t, err)
		key2, r2, err := store.Decode(written)
		require.NoError(t, err)
		require.Equal(t, key, key2)
		again, err := r2.Encode(key2)
		require.NoError(t, err)
		require.Equal(t, written, again)
	})
}
