package channels

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func fileOf(data string) OutgoingFile {
	sum := sha256.Sum256([]byte(data))
	return OutgoingFile{Name: "a.txt", Size: int64(len(data)), Digest: hex.EncodeToString(sum[:])}
}

// A copy is complete or does not exist. The start removes incomplete copies left by a crash.
func TestSpool_CopiesAreComplete(t *testing.T) {
	o := NewSpool(SpoolOptions{Dir: filepath.Join(t.TempDir(), "outgoing"), Max: 1 << 20, Started: time.Now(), Waiting: func(context.Context) ([]string, error) { return nil, nil }})
	put := func(f OutgoingFile, r io.Reader) error {
		return o.Put(t.Context(), f, func() (io.ReadCloser, error) { return io.NopCloser(r), nil })
	}
	names := func() (out []string) {
		entries, err := os.ReadDir(o.o.Dir)
		failOn(t, err)
		for _, e := range entries {
			out = append(out, e.Name())
		}
		return out
	}
	f := fileOf("the report")
	failOn(t, put(f, strings.NewReader("the report")))
	failOn(t, put(f, strings.NewReader("not even read: it is there")))
	if b, err := os.ReadFile(o.Path(f.Digest)); err != nil || string(b) != "the report" {
		t.Errorf("copy = %q, %v", b, err)
	}
	other := fileOf("another")
	if err := put(other, strings.NewReader("has changed")); !errors.Is(err, ErrFileChanged) || !strings.Contains(err.Error(), "nothing was sent") {
		t.Errorf("put of a changed file = %v", err)
	}
	full := io.MultiReader(strings.NewReader("anot"), broken{syscall.ENOSPC})
	if err := put(other, full); err == nil || !strings.Contains(err.Error(), "free some space") {
		t.Errorf("a full disk: %v", err)
	}
	if got := names(); len(got) != 1 {
		t.Errorf("copies = %q", got)
	}
	old, now := filepath.Join(o.o.Dir, "."+other.Digest+".1"), filepath.Join(o.o.Dir, "."+other.Digest+".2")
	for _, half := range []string{old, now} {
		failOn(t, os.WriteFile(half, []byte("anot"), 0o600))
	}
	before := o.o.Started.Add(-time.Second)
	failOn(t, os.Chtimes(old, before, before))
	failOn(t, o.RemoveUnused(t.Context()))
	if got := names(); len(got) != 2 || got[0] != filepath.Base(now) {
		t.Errorf("copies after the cleanup = %q", got)
	}
}

// The copies have a total limit. New copies replace sent ones, oldest first, but never copies that
// are waiting to be sent.
func TestSpool_HasALimit(t *testing.T) {
	var waiting []string
	o := NewSpool(SpoolOptions{Dir: filepath.Join(t.TempDir(), "outgoing"), Max: 30, Started: time.Now(), Waiting: func(context.Context) ([]string, error) { return waiting, nil }})
	const a, b, c, d = "the first.", "the second", "the third.", "the fourth"
	put := func(text string) error {
		return o.Put(t.Context(), fileOf(text), func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil })
	}
	there := func() (out []string) {
		for _, text := range []string{a, b, c, d} {
			if _, err := os.Stat(o.Path(fileOf(text).Digest)); err == nil {
				out = append(out, text)
			}
		}
		return out
	}
	age := func(text string, by time.Duration) {
		at := time.Now().Add(-by)
		failOn(t, os.Chtimes(o.Path(fileOf(text).Digest), at, at))
	}
	for _, text := range []string{a, b, c} {
		failOn(t, put(text))
	}
	refused := func(why string) {
		t.Helper()
		err := put(d)
		if !errors.As(err, new(*SpoolFullError)) || !strings.Contains(err.Error(), "a.txt") || !strings.Contains(err.Error(), "was not sent") {
			t.Errorf("%s: %v", why, err)
		}
		if got := there(); !slices.Equal(got, []string{a, b, c}) {
			t.Errorf("%s: copies = %q", why, got)
		}
	}
	refused("the rows of all may be on their way")
	for i, text := range []string{a, b, c} {
		age(text, time.Duration(30-i)*time.Minute)
	}
	waiting = []string{o.Path(fileOf(a).Digest), o.Path(fileOf(b).Digest), o.Path(fileOf(c).Digest)}
	refused("all wait")
	waiting = waiting[:1]
	failOn(t, put(d))
	if got := there(); !slices.Equal(got, []string{a, c, d}) {
		t.Errorf("the oldest sent copy was not replaced: %q", got)
	}
	failOn(t, put(a)) // an existing copy needs no space
}

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

func failOn(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
