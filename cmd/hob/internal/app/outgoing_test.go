package app

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

	"hob/autonomy/llm/llmtest"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
	"hob/tools/social"
)

func fileOf(data string) social.File {
	sum := sha256.Sum256([]byte(data))
	return social.File{Name: "a.txt", Size: int64(len(data)), Digest: hex.EncodeToString(sum[:])}
}

// A copy is complete or does not exist, and the start removes incomplete ones left by a crash.
func TestCopiesOfFilesThatGoOut(t *testing.T) {
	o := &outgoingFiles{dir: filepath.Join(t.TempDir(), "outgoing"), most: 1 << 20, since: time.Now(), waits: func(context.Context) ([]string, error) { return nil, nil }}
	put := func(f social.File, r io.Reader) error {
		return o.putCopy(t.Context(), f, func() (io.ReadCloser, error) { return io.NopCloser(r), nil })
	}
	names := func() (out []string) {
		entries, err := os.ReadDir(o.dir)
		fatal(t, err)
		for _, e := range entries {
			out = append(out, e.Name())
		}
		return out
	}
	f := fileOf("the report")
	fatal(t, put(f, strings.NewReader("the report")))
	fatal(t, put(f, strings.NewReader("not even read: it is there")))
	if b, err := os.ReadFile(o.copyPath(f.Digest)); err != nil || string(b) != "the report" {
		t.Errorf("the copy holds %q, %v", b, err)
	}
	other := fileOf("another")
	if err := put(other, strings.NewReader("has changed")); tools.CodeOf(err) != tools.Conflict || !strings.Contains(err.Error(), "nothing was sent") {
		t.Errorf("a file that has changed: %v", err)
	}
	full := io.MultiReader(strings.NewReader("anot"), broken{syscall.ENOSPC})
	if err := put(other, full); tools.CodeOf(err) != tools.Failed || !strings.Contains(err.Error(), "free some space") {
		t.Errorf("a full disk: %v", err)
	}
	if got := names(); len(got) != 1 {
		t.Errorf("there are %q", got)
	}
	old, now := filepath.Join(o.dir, "."+other.Digest+".1"), filepath.Join(o.dir, "."+other.Digest+".2")
	for _, half := range []string{old, now} {
		fatal(t, os.WriteFile(half, []byte("anot"), 0o600))
	}
	before := o.since.Add(-time.Second)
	fatal(t, os.Chtimes(old, before, before))
	fatal(t, o.removeUnused(t.Context()))
	if got := names(); len(got) != 2 || got[0] != filepath.Base(now) {
		t.Errorf("after the sweep there are %q", got)
	}
}

// The copies have a total limit: sent ones are removed for new ones, oldest first, and waiting ones
// never.
func TestCopiesOfFilesHaveABound(t *testing.T) {
	var waiting []string
	o := &outgoingFiles{dir: filepath.Join(t.TempDir(), "outgoing"), most: 30, since: time.Now(), waits: func(context.Context) ([]string, error) { return waiting, nil }}
	const a, b, c, d = "the first.", "the second", "the third.", "the fourth"
	put := func(text string) error {
		return o.putCopy(t.Context(), fileOf(text), func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil })
	}
	there := func() (out []string) {
		for _, text := range []string{a, b, c, d} {
			if _, err := os.Stat(o.copyPath(fileOf(text).Digest)); err == nil {
				out = append(out, text)
			}
		}
		return out
	}
	age := func(text string, by time.Duration) {
		at := time.Now().Add(-by)
		fatal(t, os.Chtimes(o.copyPath(fileOf(text).Digest), at, at))
	}
	for _, text := range []string{a, b, c} {
		fatal(t, put(text))
	}
	refused := func(why string) {
		t.Helper()
		err := put(d)
		if tools.CodeOf(err) != tools.Failed || !strings.Contains(err.Error(), "a.txt") || !strings.Contains(err.Error(), "was not sent") || !strings.Contains(err.Error(), "send it again") {
			t.Errorf("%s: %v", why, err)
		}
		if got := there(); !slices.Equal(got, []string{a, b, c}) {
			t.Errorf("%s: there are %q", why, got)
		}
	}
	refused("the rows of all may be on their way")
	for i, text := range []string{a, b, c} {
		age(text, time.Duration(30-i)*time.Minute)
	}
	waiting = []string{o.copyPath(fileOf(a).Digest), o.copyPath(fileOf(b).Digest), o.copyPath(fileOf(c).Digest)}
	refused("all wait")
	waiting = waiting[:1]
	fatal(t, put(d))
	if got := there(); !slices.Equal(got, []string{a, c, d}) {
		t.Errorf("the oldest that went out makes place: there are %q", got)
	}
	fatal(t, put(a)) // an existing copy needs no space
}

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

// A tool prepares a file outside a transaction: other writers do not wait for it.
func TestNobodyWaitsForAFileThatIsCopied(t *testing.T) {
	p := newPigeon(0)
	var h *house
	type none struct{}
	copies := tools.New(tools.Def[none]{
		Spec: tools.Spec{Name: "copy_slowly", Category: "social", Effects: tools.Read, Description: "Copy."},
		Prepare: func(ctx context.Context, _ tools.Call, _ none) (any, error) {
			ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
			defer cancel()
			return "copied", h.d.store.Write(ctx, func(*store.Tx) error { return nil })
		},
		RunTx: func(_ context.Context, _ *store.Tx, c tools.Call, _ none) (tools.Result, error) {
			if c.Prepared != "copied" {
				return tools.Result{}, errors.New("nothing was prepared")
			}
			return tools.Result{Source: provenance.Tool, Text: "it is copied"}, nil
		},
	})
	h = pigeonHouse(t, p, "", func(r llmtest.Request) llmtest.Answer {
		if len(r.Results) == 0 {
			return llmtest.Answer{Calls: []llmtest.Call{{Name: "use_tool", Args: `{"name":"copy_slowly","arguments":{}}`}}}
		}
		return llmtest.Answer{Text: "done: " + r.Results[0].Text}
	}, copies)
	p.hear(t, channels.Inbound{Text: "copy it"})
	p.reply(t, "done: it is copied")
}
