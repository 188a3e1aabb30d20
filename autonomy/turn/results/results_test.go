package results

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"hob/autonomy/bus"
	"hob/platform/provenance"
	"hob/tools"
)

func newKeeper(t testing.TB, o Options) *Store {
	t.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "results")
	}
	k, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func putResult(t testing.TB, k *Store, call, text string) {
	t.Helper()
	if err := k.Put(call, text); err != nil {
		t.Fatal(err)
	}
}

func TestStore_Keep(t *testing.T) {
	k := newKeeper(t, Options{})
	if _, err := k.Get("call_1"); !errors.Is(err, ErrGone) {
		t.Errorf("Get before Keep = %v, want ErrGone", err)
	}
	putResult(t, k, "call_1", "the whole")
	putResult(t, k, "call_1", "something else") // after a crash the call is shortened again
	again := newKeeper(t, Options{Dir: k.o.Dir})
	if got, err := again.Get("call_1"); got != "the whole" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	info, err := os.Stat(filepath.Join(k.o.Dir, "call_1.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	for _, bad := range []string{"", "../call_1", "a/b", `a\b`, strings.Repeat("x", 101), "."} {
		if err := k.Put(bad, "x"); err == nil {
			t.Errorf("Keep created a file for %q", bad)
		}
		if _, err := k.Get(bad); !errors.Is(err, ErrGone) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestStore_Sweep(t *testing.T) {
	k := newKeeper(t, Options{MaxTotal: 1000, MaxFile: 600, MaxAge: time.Hour})
	putResult(t, k, "old", strings.Repeat("x", 10))
	aged := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(filepath.Join(k.o.Dir, "old.txt"), aged, aged); err != nil {
		t.Fatal(err)
	}
	for i, call := range []string{"first", "second", "third"} {
		putResult(t, k, call, strings.Repeat("x", 5000)) // 600 bytes are stored
		at := time.Now().Add(time.Duration(i-10) * time.Minute)
		if err := os.Chtimes(filepath.Join(k.o.Dir, call+".txt"), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.Sweep(); err != nil {
		t.Fatal(err)
	}
	for call, want := range map[string]bool{"old": false, "first": false, "second": false, "third": true} {
		if _, err := k.Get(call); (err == nil) != want {
			t.Errorf("%s: %v", call, err)
		}
	}
}

func TestReadResult(t *testing.T) {
	k := newKeeper(t, Options{})
	putResult(t, k, "call_1", strings.Repeat("0123456789", 3000)+"Größe: Needle here")
	look := func(_ context.Context, call string) (bus.Entry, error) {
		switch call {
		case "call_1", "call_gone":
			return bus.Entry{Call: call, Session: "s", Source: provenance.Outside}, nil
		case "call_broken":
			return bus.Entry{}, errors.New("no database")
		}
		return bus.Entry{}, bus.ErrNotFound
	}
	tests := []struct {
		name, session, args string
		want                string // part of the text
		code                tools.Code
		size                int // size of the text, if it matters
	}{
		{"from the start", "s", `{"id":"call_1"}`, "[0 to 14000 of 30020; continue with offset 14000]", "", 0},
		{"the end", "s", `{"id":"call_1","offset":30000}`, "Größe: Needle here\n[30000 to 30020 of 30020]", "", 0},
		{"a piece", "s", `{"id":"call_1","offset":5,"limit":3}`, "567\n[5 to 8 of 30020; continue with offset 8]", "", 0},
		{"never more than fits", "s", `{"id":"call_1","limit":1000000}`, "[0 to 14000", "", 0},
		{"within a rune", "s", `{"id":"call_1","offset":30003,"limit":1}`, "ö\n", "", 0},
		{"search", "s", `{"id":"call_1","search":"needle"}`, "[at 30009] ", "", 0},
		{"search finds many", "s", `{"id":"call_1","search":"789"}`, "[3000 matches in 30020 characters", "", 0},
		{"search finds nothing", "s", `{"id":"call_1","search":"hay"}`, `"hay" does not occur`, "", 0},
		{"behind the end", "s", `{"id":"call_1","offset":30020}`, "has 30020 characters", tools.InvalidArguments, 0},
		{"before the start", "s", `{"id":"call_1","offset":-1}`, "negative", tools.InvalidArguments, 0},
		{"another conversation", "t", `{"id":"call_1"}`, "no call", tools.NotFound, 0},
		{"no such call", "s", `{"id":"call_9"}`, "no call", tools.NotFound, 0},
		{"no longer stored", "s", `{"id":"call_gone"}`, "no longer stored", tools.NotFound, 0},
		{"the ledger cannot be read", "s", `{"id":"call_broken"}`, "no database", tools.Failed, 0},
	}
	tool := Tool(k, look)
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			r, err := tool.Call(t.Context(), tools.Call{Session: tc.session, Args: json.RawMessage(tc.args)})
			if tc.code != "" {
				if err == nil || tools.CodeOf(err) != tc.code || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil || !strings.Contains(r.Text, tc.want) || r.Source != provenance.Outside || len(r.Text) > 15_000 {
				t.Errorf("%d characters of %s, %v: …%s", len(r.Text), r.Source, err, r.Text[max(0, len(r.Text)-200):])
			}
		})
	}
}

// Whatever the parameters, the whole text can be read and no text is added.
func FuzzPage(f *testing.F) {
	f.Add("a long text", 3, 4, "on")
	f.Add("語\xff🏠", 1, 1, "🏠")
	f.Add("İstanbul", 0, 2, "i")
	f.Fuzz(func(t *testing.T, text string, offset, limit int, search string) {
		if offset < 0 || limit < 0 {
			return
		}
		if search != "" {
			findText(text, readIn{Offset: offset, Search: search})
		}
		in := readIn{Offset: offset, Limit: limit}
		got, out, err := readPage(text, in)
		if err != nil {
			return
		}
		if out.To <= out.From || !strings.HasPrefix(got, text[out.From:out.To]) {
			t.Fatalf("%+v of %d: %q", out, len(text), got)
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Fatalf("cut within a rune: %+v", out)
		}
	})
}
