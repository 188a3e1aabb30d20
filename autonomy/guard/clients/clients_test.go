package clients_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/autonomy/guard"
	"hob/autonomy/guard/clients"
	"hob/platform/store"
	"hob/platform/store/storetest"
)

func failOnError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openClients(t *testing.T) (*clients.Store, *store.Store) {
	t.Helper()
	db, err := storetest.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), []store.MigrationSet{guard.Migrations(), clients.Migrations()}, store.Options{})
	failOnError(t, err)
	t.Cleanup(func() { failOnError(t, db.Close()) })
	g, err := guard.New(db, guard.Options{})
	failOnError(t, err)
	failOnError(t, g.InitKeys(t.Context()))
	return clients.New(db, g), db
}

func TestStore_AuthenticatesOnlyTheTokenOfTheKind(t *testing.T) {
	s, db := openClients(t)
	token, err := s.Create(t.Context(), clients.MCP, "laptop", []string{"recall", "list_tasks", "recall"}, time.Time{})
	failOnError(t, err)
	other, err := s.Create(t.Context(), clients.A2A, "laptop", nil, time.Time{})
	failOnError(t, err)
	c, err := s.Authenticate(t.Context(), clients.MCP, token)
	failOnError(t, err)
	if c.Person() != "mcp:laptop" || !c.MayCall("recall") || c.MayCall("write_file") || len(c.Tools) != 2 {
		t.Errorf("Authenticate() = %+v", c)
	}
	for _, x := range []struct{ kind, token string }{
		{clients.MCP, other}, {clients.A2A, token}, {clients.Session, token}, {clients.MCP, ""}, {clients.MCP, token + "x"}, {clients.MCP, token[:len(token)-1]}, {"", token},
	} {
		if _, err := s.Authenticate(t.Context(), x.kind, x.token); !errors.Is(err, clients.ErrUnknownToken) {
			t.Errorf("Authenticate(%q, ...) = %v, want ErrUnknownToken", x.kind, err)
		}
	}
	var stored int
	failOnError(t, db.Read().QueryRow(`SELECT count(*) FROM client_tokens WHERE instr(hash, ?) > 0 OR instr(id || name || tools, ?) > 0`, token, token).Scan(&stored))
	if stored > 0 {
		t.Error("the database contains the token")
	}
}

func TestStore_RejectsInvalidClients(t *testing.T) {
	s, _ := openClients(t)
	_, err := s.Create(t.Context(), clients.MCP, "laptop", nil, time.Time{})
	failOnError(t, err)
	for name, x := range map[string]struct {
		kind, name string
		expires    time.Time
		want       error
	}{
		"the same name":            {clients.MCP, "laptop", time.Time{}, clients.ErrExists},
		"the name in other case":   {clients.MCP, "LapTop", time.Time{}, clients.ErrExists},
		"an empty name":            {clients.MCP, "", time.Time{}, clients.ErrInvalid},
		"a name with a colon":      {clients.MCP, "a:b", time.Time{}, clients.ErrInvalid},
		"a long name":              {clients.MCP, strings.Repeat("a", 41), time.Time{}, clients.ErrInvalid},
		"an invisible character":   {clients.MCP, "lap\u200btop", time.Time{}, clients.ErrInvalid},
		"a stored session":         {clients.Session, "s", time.Time{}, clients.ErrInvalid},
		"a time that has passed":   {clients.MCP, "b", time.Now().Add(-time.Second), clients.ErrInvalid},
		"an unknown kind of token": {"api", "b", time.Time{}, clients.ErrInvalid},
	} {
		if _, err := s.Create(t.Context(), x.kind, x.name, nil, x.expires); !errors.Is(err, x.want) {
			t.Errorf("%s: Create() = %v, want %v", name, err, x.want)
		}
	}
}

func TestStore_EndsTokens(t *testing.T) {
	s, _ := openClients(t)
	long, err := s.Create(t.Context(), clients.MCP, "long", nil, time.Now().Add(time.Hour))
	failOnError(t, err)
	end := time.Now().Add(time.Second)
	short, err := s.Create(t.Context(), clients.MCP, "short", nil, end)
	failOnError(t, err)
	time.Sleep(time.Until(end) + 10*time.Millisecond)
	if _, err := s.Authenticate(t.Context(), clients.MCP, short); !errors.Is(err, clients.ErrUnknownToken) {
		t.Errorf("Authenticate() of an expired token = %v, want ErrUnknownToken", err)
	}
	if list, err := s.List(t.Context(), clients.MCP); err != nil || len(list) != 2 {
		t.Errorf("List() = %v, %v", list, err)
	}
	if _, err := s.Create(t.Context(), clients.MCP, "short", nil, time.Time{}); err != nil { // replaces the expired one
		t.Error(err)
	}
	c, err := s.Revoke(t.Context(), clients.MCP, "LONG")
	failOnError(t, err)
	if _, err := s.Authenticate(t.Context(), clients.MCP, long); !errors.Is(err, clients.ErrUnknownToken) {
		t.Errorf("Authenticate() of a revoked token = %v, want ErrUnknownToken", err)
	}
	if _, err := s.Revoke(t.Context(), clients.MCP, c.ID); !errors.Is(err, clients.ErrNotFound) {
		t.Errorf("second Revoke() = %v, want ErrNotFound", err)
	}
}

func TestStore_SessionTokenIsValidWhileATurnRuns(t *testing.T) {
	s, _ := openClients(t)
	for _, name := range []string{"local", "LOCAL", "owner", "hob"} {
		if _, err := s.Create(t.Context(), clients.MCP, name, nil, time.Time{}); !errors.Is(err, clients.ErrInvalid) {
			t.Errorf("Create(%q) = %v, want an invalid name", name, err)
		}
	}
	token, detach := s.Attach("main", clients.Access{})
	c, err := s.Authenticate(t.Context(), clients.Session, token)
	if _, ok := s.SessionAccess(c); err != nil || !ok || c.Name != "main" {
		t.Errorf("Authenticate() = %+v, %v; access %v", c, err, ok)
	}
	for _, kind := range []string{clients.MCP, clients.A2A} {
		if _, err := s.Authenticate(t.Context(), kind, token); !errors.Is(err, clients.ErrUnknownToken) {
			t.Errorf("Authenticate() of a session token as kind %s = %v, want ErrUnknownToken", kind, err)
		}
	}
	detach()
	if _, err := s.Authenticate(t.Context(), clients.Session, token); !errors.Is(err, clients.ErrUnknownToken) {
		t.Errorf("Authenticate() after the turn = %v, want ErrUnknownToken", err)
	}
	if _, ok := s.SessionAccess(c); ok {
		t.Error("SessionAccess() after the turn = true")
	}
	again, detach := s.Attach("main", clients.Access{})
	defer detach()
	if other, _ := s.Attach("other", clients.Access{}); again != token || other == token {
		t.Error("the token of a session must stay the same and differ from the tokens of other sessions")
	}
}

func TestStore_RevokedTokenStaysRevokedAfterRestore(t *testing.T) {
	s, db := openClients(t)
	_, err := s.Create(t.Context(), clients.MCP, "laptop", nil, time.Time{})
	failOnError(t, err)
	list, err := s.List(t.Context(), clients.MCP)
	failOnError(t, err)
	for _, want := range []bool{true, false} { // the second time, the row is gone
		failOnError(t, db.Write(t.Context(), func(tx *store.Tx) error {
			found, err := clients.RevokeRestoredTx(tx, list[0].ID)
			if found != want {
				t.Errorf("RevokeRestoredTx() = %v, want %v", found, want)
			}
			return err
		}))
	}
}

func TestStore_JoinsRepeatedCalls(t *testing.T) {
	s, db := openClients(t)
	c := clients.Client{ID: "c1", Kind: clients.MCP, Name: "laptop"}
	n := 0
	join := func(c clients.Client, hash string, open bool) (event string, err error) {
		err = db.Write(t.Context(), func(tx *store.Tx) error {
			event, err = s.JoinCallTx(tx, c, hash, func(string) (bool, error) { return open, nil }, func() (string, error) {
				n++
				return hash + strings.Repeat("'", n), nil
			})
			return err
		})
		return event, err
	}
	first, err := join(c, "h", true)
	failOnError(t, err)
	if again, err := join(c, "h", true); err != nil || again != first {
		t.Errorf("repeated call = %q, %v, want %q", again, err, first)
	}
	if other, err := join(clients.Client{ID: "c2"}, "h", true); err != nil || other == first {
		t.Errorf("call of another client = %q, %v, want a new one", other, err)
	}
	if owns, err := s.OwnsCall(t.Context(), clients.Client{ID: "c2"}, first); err != nil || owns {
		t.Errorf("OwnsCall() of another client = %v, %v", owns, err)
	}
	if next, err := join(c, "h", false); err != nil || next == first {
		t.Errorf("call after the end of the first = %q, %v, want a new one", next, err)
	}
	for i := range 60 {
		if _, err = join(c, strings.Repeat("x", i+2), true); err != nil {
			break
		}
	}
	if !errors.Is(err, clients.ErrTooManyCalls) {
		t.Errorf("the last of 60 more calls = %v, want ErrTooManyCalls", err)
	}
	open, err := s.OpenCalls(t.Context(), c)
	failOnError(t, err)
	for _, event := range open {
		failOnError(t, s.EndCall(t.Context(), c, event))
	}
	if _, err := join(c, "new", true); err != nil {
		t.Error(err)
	}
}
